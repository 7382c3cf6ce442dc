/**
 * Runs an upstream on a real socket that follows a test's script and records its requests. It knows no upstream rules:
 * the script writes the response, or raw bytes.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** How the server handles one request. */
export type Script = (response: ServerResponse, request: IncomingMessage) => void

export interface ScriptedUpstream {
  /** Base address, ending in `/v2`. */
  url: string
  port: number
  /** Every received request, in order. */
  requests: IncomingMessage[]
  /** Resolves once `count` requests were received. */
  received(count: number): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** A server that answers every request with the script. */
export async function startScriptedUpstream(script: Script): Promise<ScriptedUpstream> {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    script(response, request)
    server.emit('counted')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v2`,
    port,
    requests,
    async received(count) {
      while (requests.length < count) await once(server, 'counted')
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Answers with this status, body and these headers. */
export function answers(status: number, body: string | Buffer, headers: Record<string, string> = {}): Script {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(body)
  }
}

/** Writes these bytes to the socket as they are, then does `after` with it. */
export function raw(bytes: string, after: 'end' | 'reset' | 'hang' = 'end'): Script {
  return (response) => {
    const { socket } = response
    if (socket === null) return
    const finish = (): void => {
      if (after === 'end') socket.end()
      if (after === 'reset') socket.resetAndDestroy()
    }
    if (bytes === '') finish()
    else socket.write(bytes, finish)
  }
}
