/** What stands before the upstream for one process and counts its requests. Owns the counting; passes everything on. */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A running front. Disposing of it cuts its connections. */
export interface CountingFront extends AsyncDisposable {
  /** Takes the place of the upstream's base address. */
  readonly url: string
  /** Requests that came so far. */
  requests(): number
}

/** Stands before `url`. */
export async function startCountingFront(url: string): Promise<CountingFront> {
  const { origin, pathname } = new URL(url)
  let requests = 0
  const server = createServer((incoming, outgoing) => {
    requests += 1
    const { method, headers } = incoming
    const onward = request(`${origin}${incoming.url}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}
