import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { checkUpstream, judgeClock } from '../../../src/cli/doctor/upstream.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { until } from '../../support/http/api-server.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const { signal: never } = new AbortController()

/** An upstream with one response; `requests` are those it got. */
async function upstream(answer: RequestListener) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe('reaching the upstream', () => {
  test('takes one request without a key, and any HTTP response counts', async () => {
    for (const status of [200, 401, 404, 429]) {
      await using server = await upstream((_request, response) => response.writeHead(status).end('{}'))
      const { reached, findings } = await checkUpstream(server.url, systemClock, never)
      expect([status, reached, findings[0]?.level]).toEqual([status, true, 'ok'])
      expect(server.requests.map(({ url }) => url)).toEqual(['/v2/references/exchanges?pageSize=1'])
      expect(server.requests[0]?.headers['x-api-key']).toBeUndefined()
    }
  })

  test('warns of an upstream that fails or redirects', async () => {
    for (const status of [503, 301]) {
      await using server = await upstream((_request, response) => response.writeHead(status).end())
      const { reached, findings } = await checkUpstream(server.url, systemClock, never)
      expect([status, reached, findings[0]]).toEqual([
        status,
        true,
        expect.objectContaining({ level: 'warn', finding: expect.stringContaining(String(status)) }),
      ])
    }
  })

  test('distinguishes refused, unknown, silent and not HTTP, each with its remedy', async () => {
    const gone = await upstream(() => {})
    await gone[Symbol.asyncDispose]()
    const rude = createTcpServer((socket) =>
      socket
        .resume()
        .on('error', () => {})
        .end('hello\r\n\r\n'),
    )
    await new Promise<void>((resolve) => rude.listen(0, '127.0.0.1', resolve))
    const rudeUrl = `http://127.0.0.1:${(rude.address() as AddressInfo).port}/v2`
    for (const [url, words] of [
      [gone.url, 'nothing listens there'],
      ['http://no-such-host.invalid/v2', 'name'],
      [rudeUrl, 'not HTTP'],
      [rudeUrl.replace('http', 'https'), 'TLS'],
    ] as const) {
      const { reached, findings } = await checkUpstream(url, systemClock, never)
      expect([reached, findings]).toEqual([
        false,
        [
          expect.objectContaining({
            level: 'fail',
            area: 'upstream',
            finding: expect.stringContaining(words),
            todo: expect.stringContaining('BRIDGE_UPSTREAM_URL'),
          }),
        ],
      ])
    }
    await new Promise((resolve) => rude.close(resolve))
    await using silent = await upstream(() => {})
    const clock = createManualClock()
    const asked = checkUpstream(silent.url, clock, never)
    await until(() => silent.requests.length === 1)
    clock.advance(10_000)
    expect((await asked).findings[0]?.finding).toContain('did not answer in time')
  })
})

describe('the clock', () => {
  const NOW = Date.UTC(2026, 0, 6, 7)
  const judged = (serverMs: number | null, url = 'https://upstream.example/v2') =>
    judgeClock({ startedMs: NOW - 100, endedMs: NOW + 100, serverMs, sent: true }, url)

  test.each([
    [0, 'ok'],
    [-1500, 'ok'],
    [-2400, 'ok'],
    [-2600, 'warn'],
    [1600, 'warn'],
    [-29_000, 'warn'],
    [-31_000, 'fail'],
    [40_000, 'fail'],
  ])('whose upstream is %d ms away is %s', (offMs, level) => {
    expect(judged(NOW + offMs).level).toBe(level)
  })

  test('that is wrong is reported with direction and remedy; an upstream without a Date is a warning', () => {
    expect(judged(NOW - 7_200_500)).toMatchObject({
      finding: 'this machine is 2.0 hours ahead of upstream',
      todo: expect.stringContaining('time service'),
    })
    expect(judged(NOW + 60_000).finding).toContain('60.5 s behind')
    expect(judged(null).level).toBe('warn')
  })

  test('is not checked against an upstream on this machine: a sandbox keeps market time', () => {
    for (const host of ['127.0.0.1', 'localhost', '[::1]'])
      expect(judged(NOW - 86_400_000, `http://${host}:4001/v2`).level).toBe('ok')
    expect(judged(NOW - 86_400_000, 'http://127.0.0.1.example/v2').level).toBe('fail')
  })
})
