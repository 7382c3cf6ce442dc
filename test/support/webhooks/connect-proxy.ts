/**
 * Runs an HTTP proxy that tunnels by CONNECT, as an operator's would: it opens the tunnel, refuses, or never responds,
 * and records each request. It refuses every other method.
 */
import { createServer as createHttp } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { TestCertificate } from '../test-certificates.ts'

/** What it does with a CONNECT: `hang` takes the connection and never answers; a number is the status that refuses. */
export type ProxyScript = 'open' | 'hang' | number

/** One CONNECT. */
export interface Asked {
  /** Address and port, as they were written. */
  target: string
  /** The header `proxy-authorization`. */
  word: string | undefined
}

export interface ConnectProxy extends AsyncDisposable {
  /** Without user and password; over TLS with the name `localhost`. */
  readonly url: string
  readonly port: number
  readonly asked: readonly Asked[]
  /** Changes the behaviour from now on; hanging connections are closed. */
  script(script: ProxyScript): void
}

/**
 * Starts one on 127.0.0.1, over TLS where there is a certificate. `onward` is where its tunnels lead, e.g. to another address
 * than was asked for.
 */
export async function startConnectProxy({
  onward = (target) => connect(addressOf(target)),
  certificate,
}: {
  onward?: (target: string) => Socket
  certificate?: TestCertificate
} = {}): Promise<ConnectProxy> {
  const asked: Asked[] = []
  const hanging = new Set<Socket>()
  const sockets = new Set<Socket>()
  let script: ProxyScript = 'open'
  const server = certificate === undefined ? createHttp() : createHttps(certificate)
  server.on('request', (_request, response) => void response.writeHead(405).end())
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('connect', (request, stream, head) => {
    const socket = stream as Socket
    const target = request.url ?? ''
    asked.push({ target, word: request.headers['proxy-authorization'] })
    socket.on('error', () => undefined)
    if (script === 'hang') return void hanging.add(socket)
    if (script !== 'open') return void socket.end(`HTTP/1.1 ${script} No\r\ncontent-length: 0\r\n\r\n`)
    const tunnel = onward(target)
    tunnel.once('connect', () => {
      socket.write('HTTP/1.1 200 Yes\r\n\r\n')
      tunnel.write(head)
      socket.pipe(tunnel).pipe(socket)
    })
    tunnel.on('error', () => socket.destroy())
    socket.once('close', () => tunnel.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: certificate === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`,
    port,
    asked,
    script(next) {
      script = next
      for (const socket of hanging) socket.destroy()
      hanging.clear()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function addressOf(target: string): { host: string; port: number } {
  const { hostname, port } = new URL(`http://${target}`)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) }
}
