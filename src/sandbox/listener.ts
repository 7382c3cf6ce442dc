/**
 * A local HTTP listener for a test tool: open on a port, closed with every connection at once, hanging ones included.
 * Refuses the care that the product's own listeners take of strangers: `src/http` does.
 */
import { createServer, type RequestListener } from 'node:http'
import { BridgeError, messageOf } from '../errors.ts'

export interface LocalListener {
  /** `http://<host>:<port>`. */
  url: string
  /** Says who answers, once. Requests that come before wait for it. */
  serve(listener: RequestListener): void
  /** Resolves when the port is free; connections are cut. Callable twice. */
  close(): Promise<void>
}

/** What it listens on. */
export interface LocalAddress {
  host: string
  /** 0 picks a free one. */
  port: number
  /** The flag that chose the port. */
  flag: string
}

/**
 * Listens there.
 * @throws BridgeError `failed` where the port is taken or the host is not this machine's; the hint names the flag
 */
export async function listenLocally({ host, port, flag }: LocalAddress): Promise<LocalListener> {
  const shown = host.includes(':') ? `[${host}]` : host
  const serving = Promise.withResolvers<RequestListener>()
  const server = createServer((request, response) => {
    void serving.promise.then((listener) => listener(request, response))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      const hint = `Choose another port with ${flag}; 0 picks a free one. --host must be an address of this machine.`
      reject(
        new BridgeError('failed', `cannot listen on ${shown}:${port}: ${messageOf(cause)}`, { cause, hint }),
      )
    })
    server.listen(port, host, resolve)
  })
  const address = server.address()
  const bound = address !== null && typeof address === 'object' ? address.port : port
  return {
    url: `http://${shown}:${bound}`,
    serve: serving.resolve,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
