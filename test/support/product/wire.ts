/** Sends requests with headers exactly as given, twice the same name too, over connections that are kept. */
import { Agent, request } from 'node:http'

/** One request. */
export interface WireRequest {
  method: string
  /** Path and query. */
  path: string
  headers?: readonly (readonly [name: string, value: string])[]
  body?: string | Buffer
}

/** Its response. Of a stream of events there is the head alone: the connection is then cut. */
export interface WireAnswer {
  status: number
  headers: NodeJS.Dict<string | string[]>
  text: string
}

/** A client of that address. */
export interface Wire extends Disposable {
  send(wanted: WireRequest): Promise<WireAnswer>
}

/** Longer than any response of the product takes, long polls of 30 s aside. */
const ANSWER_MS = 40_000

/** Creates it; at most so many connections. */
export function createWire(base: string, maxSockets = 16): Wire {
  const agent = new Agent({ keepAlive: true, maxSockets })
  const { hostname, port } = new URL(base)
  return {
    send: (wanted) =>
      new Promise((resolve, reject) => {
        const { method, path, headers = [], body } = wanted
        const length: [string, string][] =
          body === undefined ? [] : [['content-length', String(Buffer.byteLength(body))]]
        const fields = [['host', `${hostname}:${port}`], ...headers, ...length].flat()
        const sent = request({ agent, hostname, port, method, path, headers: fields }, (response) => {
          const { statusCode: status = 0, headers: own } = response
          const chunks: Buffer[] = []
          const over = (): void => resolve({ status, headers: own, text: Buffer.concat(chunks).toString() })
          response.on('error', over)
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('end', over)
          if (status === 200 && own['content-type']?.startsWith('text/event-stream') && method !== 'HEAD') {
            over()
            sent.destroy()
          }
        })
        sent.setTimeout(ANSWER_MS, () => sent.destroy(new Error(`${method} ${path}: no answer`)))
        sent.on('upgrade', (response, socket) => {
          socket.destroy()
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text: '' })
        })
        sent.on('error', reject)
        sent.end(body)
      }),
    [Symbol.dispose]: () => agent.destroy(),
  }
}
