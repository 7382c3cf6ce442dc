/**
 * A local HTTP listener for a test tool: open on a port, closed with every connection at once, hanging ones included.
 * Refuses the care that the product's own listeners take of strangers: `src/http` does.
 */
import { createServer, type RequestListener } from 'node:http'
import { BridgeError, messageOf } from '../errors.ts'

export interface LocalListener {
  /** `http://127.0.0.1:<port>`. */
  url: string
  /** Says who answers, once. Requests that come before wait for it. */
  serve(listener: RequestListener): void
  /** Resolves when the port is free; connections are cut. Callable twice. */
  close(): Promise<void>
}

const HOST = '127.0.0.1'

/**
 * Listens on this machine; port 0 picks a free one.
 * @throws BridgeError `failed` where the port is taken; the hint names the flag
 */
export async function listenLocally(port: number, flag: string): Promise<LocalListener> {
  const serving = Promise.withResolvers<RequestListener>()
  const server = createServer((request, response) => {
    void serving.promise.then((listener) => listener(request, response))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      const hint = `Choose another port with ${flag}; 0 picks a free one.`
      reject(
        new BridgeError('failed', `cannot listen on ${HOST}:${port}: ${messageOf(cause)}`, { cause, hint }),
      )
    })
    server.listen(port, HOST, resolve)
  })
  const address = server.address()
  const bound = address !== null && typeof address === 'object' ? address.port : port
  return {
    url: `http://${HOST}:${bound}`,
    serve: serving.resolve,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
