/** Puts the header fields of a provider that reports its quota on every answer of an upstream. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Such a proxy. */
export interface ReportingUpstream extends AsyncDisposable {
  url: string
  /** Reports this share of the quota as used from now on; before, a thousandth. */
  report(usedShare: number): void
}

/** Starts a proxy before `url` that reports this weekly quota. */
export async function reportingQuota(url: string, limit: number): Promise<ReportingUpstream> {
  const { origin, pathname } = new URL(url)
  let usedShare = 0.001
  const server = createServer((asked, answer) => {
    const { method, headers } = asked
    const quota = {
      'x-quota-limit': `${limit}`,
      'x-quota-remaining': `${Math.floor(limit * (1 - usedShare))}`,
    }
    const passed = request(`${origin}${asked.url}`, { method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, { ...response.headers, ...quota })
      response.pipe(answer)
    })
    passed.on('error', () => answer.destroy())
    asked.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    report(share) {
      usedShare = share
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
