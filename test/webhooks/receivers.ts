/**
 * Starts webhook receivers on this machine, each at its own address below 127/8. One plays the allowed public host,
 * another the forbidden one; each counts its connections and requests.
 */
import { once } from 'node:events'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net'
import type { TestCertificate } from '../support/test-certificates.ts'

export interface Receiver {
  address: string
  port: number
  /** The number of TCP connections so far. */
  connections(): number
  /** The number of open connections. */
  open(): number
  /** Requests so far, in order, with their bodies. */
  requests: { request: IncomingMessage; body: string }[]
  [Symbol.asyncDispose](): Promise<void>
}

/** Handles a request whose body was read. */
export type Reply = (response: ServerResponse, request: IncomingMessage) => void

/** A receiver that handles every request with `reply`, over TLS if there is a certificate. */
export async function startReceiver(
  reply: Reply,
  {
    address = '127.0.0.2',
    port = 0,
    certificate,
  }: { address?: string; port?: number; certificate?: TestCertificate } = {},
): Promise<Receiver> {
  const requests: Receiver['requests'] = []
  const onRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = ''
    for await (const chunk of request) body += chunk
    requests.push({ request, body })
    reply(response, request)
  }
  const server = certificate === undefined ? createHttp(onRequest) : createHttps(certificate, onRequest)
  return { ...(await listening(server, address, port)), requests }
}

/** A receiver with a scripted action for each connection, once its first bytes have arrived. */
export async function startRawReceiver(onSocket: (socket: Socket) => void): Promise<Receiver> {
  const server = createTcp((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => onSocket(socket))
  })
  return { ...(await listening(server, '127.0.0.2', 0)), requests: [] }
}

/** Responds with this status, body and these headers. */
export function answering(status: number, body = '', headers: Record<string, string> = {}): Reply {
  return (response) => void response.writeHead(status, headers).end(body)
}

async function listening(server: Server, address: string, port: number): Promise<Omit<Receiver, 'requests'>> {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(port, address)
  await once(server, 'listening')
  return {
    address,
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
