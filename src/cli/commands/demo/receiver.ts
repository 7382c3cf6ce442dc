/** Runs the webhook receiver of the demo: it accepts every webhook and counts them. It checks no signature. */
import type { AddressInfo } from 'node:net'
import { createServer, type IncomingMessage } from '../../../lifecycle/node-http.ts'
import { freePort } from './free-port.ts'

/** A running receiver. */
export interface DemoReceiver {
  /** Where webhooks may be posted to. */
  readonly url: string
  /** Webhooks accepted so far. */
  readonly count: number
  close(): Promise<void>
}

/** Starts it on the port, on another one where that is taken. */
export async function startReceiver(port: number): Promise<DemoReceiver> {
  let count = 0
  const server = createServer((request, response) => {
    void readToEnd(request).then((isWhole) => {
      if (!isWhole) return
      const isPost = request.method === 'POST'
      if (isPost) count += 1
      response.writeHead(isPost ? 204 : 405).end()
    })
  })
  const free = await freePort(port)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(free, '127.0.0.1', resolve)
  })
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${bound}/hook`,
    get count() {
      return count
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Reads and drops the body; false where the connection broke before its end. */
async function readToEnd(request: IncomingMessage): Promise<boolean> {
  try {
    for await (const _chunk of request);
    return true
  } catch {
    // The sender has gone and tries again; nobody is left to answer.
    return false
  }
}
