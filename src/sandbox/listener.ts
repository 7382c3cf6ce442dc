/**
 * Opens a local HTTP listener for a test tool and closes it with all its connections, including hanging ones. It takes heads as
 * large as the listeners of `src/http` do, and lacks their protection against hostile clients.
 */
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { problemBody } from '../api/mirror/refusal.ts'
import { BridgeError, messageOf } from '../errors.ts'
import { MAX_HEAD_BYTES } from '../http/limits.ts'
import type { HttpProblem } from '../http/problem.ts'
import { answerClientError } from '../http/upgrade.ts'
import { createServer } from '../lifecycle/node-http.ts'

/**
 * Opens a listener on the given address; port 0 picks a free one. `flag` is the flag that chose the port.
 * @throws BridgeError `failed` when the port is taken or the host is not a local address; the hint names the flag
 */
export async function listenLocally(address: { host: string; port: number; flag: string }) {
  const { host, port, flag } = address
  const shown = host.includes(':') ? `[${host}]` : host
  const serving = Promise.withResolvers<RequestListener>()
  const server = createServer({ maxHeaderSize: MAX_HEAD_BYTES }, (request, response) => {
    void serving.promise.then((listener) => listener(request, response))
  })
  server.on('clientError', (error, socket) => answerClientError(error, socket, answerOf))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      const hint = `Choose another port with ${flag}; 0 picks a free one. --host must be an address of this machine.`
      reject(
        new BridgeError('failed', `cannot listen on ${shown}:${port}: ${messageOf(cause)}`, { cause, hint }),
      )
    })
    server.listen(port, host, resolve)
  })
  const { port: bound } = server.address() as AddressInfo
  return {
    /** `http://<host>:<port>`. */
    url: `http://${shown}:${bound}`,
    /** Sets the request listener, once. Requests that arrive earlier wait for it. */
    serve: serving.resolve,
    /** Cuts all connections and resolves when the port is free. Callable twice. */
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The answer to what no app has seen, in the upstream's form. */
function answerOf(problem: HttpProblem) {
  const body = problemBody(problem)
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body).toString(),
  }
  return { status: problem.status, headers, body }
}
