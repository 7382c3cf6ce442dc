import { describe, expect, it } from 'vitest'
import type { PlanName } from '../../src/core/plans.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../support/bridge-process.ts'
import { type ApiEvent, bearer, eventually, getJson, pullAll, readSse } from '../support/http/api-client.ts'
import { openStream } from '../support/streams/ws-client.ts'
import { compare, expectComplete } from '../support/worlds/completeness.ts'

const QUOTA = 1_000_000

/** Runs the scenario to its end against a bridge; returns what pull, SSE and WebSocket got, and the sandbox's own count. */
async function runScenario(scenario: string, plan: PlanName) {
  using directory = temporaryDirectory()
  const sandbox = await startSandbox({ scenario, plan, weeklyQuota: QUOTA, seed: 7 }, { clock: systemClock })
  const reading = new AbortController()
  try {
    const bridge = await startBridge(bridgeEnv(sandbox, directory.path, { BRIDGE_UPSTREAM_PLAN: plan }))
    const streamed: ApiEvent[] = []
    const streaming = readSse(
      `${bridge.ready.http}/v1/events?since=2000-01-01T00:00:00Z`,
      ({ event, data }) => {
        if (event === 'disclosure' || event === 'gap') streamed.push(JSON.parse(data) as ApiEvent)
      },
      reading.signal,
    )
    const stream = await openStream({ url: bridge.ready.http, auth: bearer })
    stream.send({ action: 'subscribe', from: 'earliest' })
    await eventually(
      () => pullAll(bridge.ready.http),
      (events) => sandbox.finished() && compare(sandbox.truth().items, events).missing.length === 0,
      110_000,
    )
    const status = await eventually(
      () =>
        getJson<{ gaps: unknown[]; quota: { used: number }; completeness: string }>(
          `${bridge.ready.http}/v1/status`,
        ),
      ({ gaps }) => gaps.length === 0,
    )
    const pulled = await pullAll(bridge.ready.http)
    await eventually(
      () => streamed.length,
      (count) => count >= pulled.length,
    )
    await eventually(
      () => stream.sequences().length,
      (count) => count >= pulled.length,
    )
    reading.abort()
    await streaming
    // The WebSocket stays open: the stop closes it.
    const code = await bridge.stop()
    const closeCode = (await stream.closed).code
    const received = stream.messages.flatMap(({ event }) => event ?? [])
    const truth = sandbox.truth().items
    return { truth, usage: sandbox.usage(), pulled, streamed, received, status, code, closeCode }
  } finally {
    reading.abort()
    await sandbox.close()
  }
}

describe.concurrent('a burst that is larger than a page', () => {
  for (const plan of ['lite', 'advanced', 'ultimate'] as const) {
    it(`delivers every item of the morning once to pull, SSE and WebSocket on ${plan}, with no gap left and inside the limits`, async () => {
      const { truth, usage, pulled, streamed, received, status, code, closeCode } = await runScenario(
        'morning-short',
        plan,
      )
      expect(truth.length).toBe(760)
      expectComplete(truth, pulled)
      expectComplete(truth, streamed)
      expectComplete(truth, received)
      // On lite a fill takes 1.6 s of two: on a busy machine it becomes an announced gap, which the test waits for.
      // `integration/usual-mornings.test.ts` checks in virtual time that there is none.
      if (plan !== 'lite') expect(compare(truth, pulled).gaps).toEqual([])
      expect({
        throttled: usage.throttled,
        quotaRefused: usage.quotaRefused,
        violations: usage.violations,
      }).toEqual({
        throttled: 0,
        quotaRefused: 0,
        violations: 0,
      })
      // Polls continued between the two readings.
      expect(usage.units - status.quota.used).toBeGreaterThanOrEqual(0)
      expect(usage.units - status.quota.used).toBeLessThanOrEqual(5)
      expect(status.completeness).toBe('+day')
      expect({ code, closeCode }).toEqual({ code: 0, closeCode: 4200 })
    })
  }

  it('delivers every item of a flood of 1,500 in a minute on advanced', async () => {
    const { truth, usage, pulled, streamed } = await runScenario('flood', 'advanced')
    expect(truth.length).toBe(1500)
    expectComplete(truth, pulled)
    expectComplete(truth, streamed)
    expect(usage.throttled + usage.quotaRefused).toBe(0)
  })
})
