import { expect, it } from 'vitest'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../support/bridge-process.ts'
import { eventually, getJson, pullAll } from '../support/http/api-client.ts'
import { compare, expectComplete } from '../support/worlds/completeness.ts'

/**
 * Tests every upstream fault, each for a few requests, one after the other during a flood. A second 429 in a row
 * causes a wait of a minute: longer runs of 429s are in `test/integration/worlds.test.ts`, in virtual time.
 */
const FAULTS: Record<string, unknown>[][] = [
  [{ kind: 'throttle-429', count: 1, retryAfter: '1' }],
  [{ kind: 'quota-429', count: 1, retryAfter: '1000000000' }],
  [{ kind: 'throttle-429', count: 1, retryAfter: '-1' }],
  [{ kind: 'status', status: 500, count: 3 }],
  [{ kind: 'truncate', count: 2 }],
  [{ kind: 'html-200', count: 2 }],
  [{ kind: 'null-data', count: 1 }],
  [{ kind: 'reset', count: 1 }],
  [
    { kind: 'refuse-cursor', count: 1 },
    { kind: 'repeat-page', count: 2 },
  ],
  [{ kind: 'stuck-cursor', count: 2 }],
  [{ kind: 'hang-before', count: 1 }],
  [{ kind: 'hang-inside', count: 1 }],
]

interface Status {
  gaps: { id: string }[]
  upstream: { state: string }
  quota: { used: number }
}

it('continues through every fault of the upstream: truth = log + open gaps + rejected', async () => {
  using directory = temporaryDirectory()
  const sandbox = await startSandbox(
    { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 11 },
    { clock: systemClock },
  )
  try {
    const bridge = await startBridge(bridgeEnv(sandbox, directory.path, { BRIDGE_UPSTREAM_PLAN: 'advanced' }))
    const post = async (path: string, body: unknown): Promise<void> => {
      const answer = await fetch(`${sandbox.adminUrl}/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      expect(answer.status).toBe(200)
    }
    const status = () => getJson<Status>(`${bridge.ready.http}/v1/status`)
    for (const faults of FAULTS) {
      for (const fault of faults) await post('faults', fault)
      await eventually(
        () => getJson<{ faults: unknown[] }>(`${sandbox.adminUrl}/faults`, {}),
        ({ faults: left }) => left.length === 0,
        60_000,
      )
      await eventually(status, ({ upstream }) => upstream.state === 'ok', 30_000)
    }
    const malformed = [
      { headline: 'no guid' },
      { guid: 'urn:newsml:example:bad:1', timestamp: 'yesterday' },
      17,
    ]
    await post('items', { items: malformed })
    const events = await eventually(
      () => pullAll(bridge.ready.http),
      (pulled) => sandbox.finished() && compare(sandbox.truth().items, pulled).missing.length === 0,
      120_000,
    )
    await eventually(status, ({ gaps, upstream }) => gaps.length === 0 && upstream.state === 'ok', 60_000)
    const all = await pullAll(bridge.ready.http)
    expectComplete(sandbox.truth().items, all)
    expect(all.length).toBeGreaterThanOrEqual(events.length)
    const gapEvents = compare([], all).gaps
    const opened = gapEvents.filter((event) => event.type === 'bridge.gap.opened.v1')
    const filled = gapEvents.filter((event) => event.type === 'bridge.gap.filled.v1')
    expect(opened.some((event) => event.data.cause === 'cursor_refused')).toBe(true)
    expect(filled.map((event) => event.data.id).sort()).toEqual(opened.map((event) => event.data.id).sort())
    await eventually(
      async () => (await fetch(`${bridge.ready.ops}/metrics`)).text(),
      (text) =>
        text.includes('bridge_items_total{disposition="rejected"} 3') && text.includes('bridge_gaps_open 0'),
    )
    // Read before the status: a poll between the two would make upstream count more than the ledger.
    const { units } = sandbox.usage()
    expect((await status()).quota.used).toBeGreaterThanOrEqual(units)
    expect(await bridge.stop()).toBe(0)
  } finally {
    await sandbox.close()
  }
}, 240_000)
