/** Proxies one process's requests to the upstream and records them. */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../../src/lifecycle/clock.ts'

/** Everything else, the references among it, is free. */
const COSTS = '/disclosures/'

/** A running proxy. Disposing of it cuts its connections. */
export interface CountingFront extends AsyncDisposable {
  /** Base URL to use instead of the upstream's. */
  readonly url: string
  /** Times of requests that cost a unit, ms since 1970, ascending. */
  arrivals(): readonly number[]
}

/** Starts a proxy in front of `url`. */
export async function startCountingFront(url: string): Promise<CountingFront> {
  const { origin, pathname } = new URL(url)
  const arrivals: number[] = []
  const server = createServer((incoming, outgoing) => {
    if (incoming.url?.includes(COSTS)) arrivals.push(systemClock.now())
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
    arrivals: () => arrivals,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}
