/** Puts the header fields of a provider that reports its quota on every answer of an upstream. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Starts a proxy before `url` that reports this weekly quota, with a thousandth of it used. */
export async function reportingQuota(url: string, limit: number): Promise<{ url: string } & AsyncDisposable> {
  const { origin, pathname } = new URL(url)
  const quota = { 'x-quota-limit': `${limit}`, 'x-quota-remaining': `${Math.floor(limit * 0.999)}` }
  const server = createServer((asked, answer) => {
    const { method, headers } = asked
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
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
