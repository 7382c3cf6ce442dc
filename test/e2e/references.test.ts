import { expect, test } from 'vitest'
import { startApp } from '../../src/app/app.ts'
import { systemChance, systemClock } from '../../src/lifecycle/clock.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { bridgeEnv, temporaryDirectory } from '../support/bridge-process.ts'
import { eventually, getJson } from '../support/http/api-client.ts'

interface Answer {
  status: number
  text: string
  tookMs: number
}

async function get(base: string, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  const startMs = performance.now()
  const response = await fetch(`${base}/references/exchanges${path}`, { headers })
  return { status: response.status, text: await response.text(), tookMs: performance.now() - startMs }
}

test('the bridge reads the references of upstream when they are asked for, within two seconds, and keeps them', async () => {
  using directory = temporaryDirectory()
  const sandbox = await startSandbox(
    { scenario: 'quiet', plan: 'lite', weeklyQuota: 1_000_000 },
    { clock: systemClock },
  )
  const env = bridgeEnv(sandbox, directory.path, { BRIDGE_UPSTREAM_PLAN: 'lite', BRIDGE_LOG_LEVEL: 'error' })
  const open = async () => {
    const app = await startApp(
      loadSettings(env, () => ''),
      { clock: systemClock, chance: systemChance },
    )
    const stop = new AbortController()
    const running = app.runUntil(stop.signal)
    return {
      app,
      here: `${app.ready.http}/v2`,
      async close() {
        stop.abort()
        await running
      },
    }
  }
  const first = await open()
  const { app, here } = first
  await eventually(
    () => app.status().upstream.lastGoodPoll,
    (time) => time !== null,
  )
  for (const path of ['/XWBO', '', '/XLON', '/NEXX', '?pageSize=10&pageNumber=2', '/XXXX']) {
    const { tookMs, ...ours } = await get(here, path)
    const { tookMs: _, ...theirs } = await get(sandbox.url, path)
    expect([path, ours]).toEqual([path, theirs])
    expect(tookMs).toBeLessThan(2_000)
  }
  const wrongKey = await get(here, '/XLON', { 'x-api-key': 'wrong', authorization: 'Bearer wrong' })
  expect(wrongKey.status).toBe(200)
  expect(JSON.parse((await get(here, '?cursor=x')).text).warnings).toHaveLength(1)
  const { quota } = await getJson<{ quota: { used: number } }>(`${app.ready.http}/v1/status`)
  const { units, unauthorised, throttled, violations } = sandbox.usage()
  expect([unauthorised, throttled, violations]).toEqual([0, 0, 0])
  // Polls continue between the two readings.
  expect(Math.abs(units - quota.used)).toBeLessThan(40)
  await first.close()
  await sandbox.close()

  const again = await open()
  try {
    const kept = await eventually(
      () => get(again.here, '/XLON'),
      ({ status }) => status === 200,
    )
    expect(JSON.parse(kept.text).data).toMatchObject({ mic: 'XLON', city: 'LONDON' })
    expect((await get(again.here, '?pageSize=200')).status).toBe(200)
    const never = await get(again.here, '/XPAR')
    expect([never.status, JSON.parse(never.text).error.hint]).toEqual([
      503,
      expect.stringContaining('Upstream'),
    ])
  } finally {
    await again.close()
  }
})
