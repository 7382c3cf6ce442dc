import { expect, test } from 'vitest'
import { startApp } from '../../src/app/app.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { bridgeEnv, temporaryDirectory } from '../support/bridge-process.ts'
import { eventually, getJson } from '../support/http/api-client.ts'
import { createFastClock } from '../support/time/fast-clock.ts'

/** At this speed a page scan of 46 exchanges, four a second, takes three seconds. */
const SPEED = 4

interface Answer {
  status: number
  retryAfter: string | null
  text: string
}

test('the bridge serves the upstream exchanges without a key, unchanged, at no cost in units', async () => {
  using directory = temporaryDirectory()
  const clock = createFastClock(SPEED)
  const sandbox = await startSandbox(
    { scenario: 'quiet', plan: 'ultimate', weeklyQuota: 1_000_000 },
    { clock },
  )
  const env = bridgeEnv(sandbox, directory.path, {
    BRIDGE_UPSTREAM_PLAN: 'ultimate',
    BRIDGE_LOG_LEVEL: 'error',
  })
  const app = await startApp(
    loadSettings(env, () => ''),
    { clock, chance: () => 0.5 },
  )
  const stop = new AbortController()
  const running = app.runUntil(stop.signal)
  const get = async (base: string, path: string, headers: Record<string, string> = {}): Promise<Answer> => {
    const response = await fetch(`${base}/references/exchanges${path}`, { headers })
    const retryAfter = response.headers.get('retry-after')
    return { status: response.status, retryAfter, text: await response.text() }
  }
  const here = `${app.ready.http}/v2`
  try {
    const early = await get(here, '')
    expect([early.status, early.retryAfter]).toEqual([503, '30'])
    expect(JSON.parse(early.text)).toMatchObject({
      error: { message: expect.stringContaining('not been read') },
    })

    await eventually(
      () => get(here, ''),
      ({ status }) => status === 200,
    )
    expect((await get(here, '/XXXX')).status).toBe(404)
    await eventually(
      () => get(here, '/XWBO'),
      ({ status }) => status === 200,
    )
    for (const path of ['?pageSize=200', '?pageSize=10&pageNumber=2', '/XLON', '/XWBO', '/NEXX', '/XXXX']) {
      expect([path, await get(here, path)]).toEqual([path, await get(sandbox.url, path)])
    }
    const wrongKey = await get(here, '/XLON', { 'x-api-key': 'wrong', authorization: 'Bearer wrong' })
    expect(wrongKey.status).toBe(200)
    expect(JSON.parse((await get(here, '?cursor=x')).text).warnings).toHaveLength(1)

    const { quota } = await getJson<{ quota: { used: number } }>(`${app.ready.http}/v1/status`)
    const { units, requests, unauthorised, throttled } = sandbox.usage()
    expect([unauthorised, throttled]).toEqual([0, 0])
    // Polls continue between the two readings.
    expect(Math.abs(units - quota.used)).toBeLessThan(40)
    expect(requests - units).toBeGreaterThanOrEqual(46)
  } finally {
    stop.abort()
    await running
    await sandbox.close()
  }
})
