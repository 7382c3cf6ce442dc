import { expect, it } from 'vitest'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../support/bridge-process.ts'
import { type ApiEvent, eventually, getJson, pullAll, readSse } from '../support/http/api-client.ts'
import { compare, expectComplete } from '../support/worlds/completeness.ts'

/** A page of the plan lite has 50. */
const MORE_THAN_TWO_PAGES = 120
/** Units a week that pay for a request a second. */
const ENDLESS = 1_000_000

/** A line of the log. */
interface Line {
  event: string
  kind?: string
}

it('a fill that cannot finish is an open gap for status, metrics and every reader, and closes when it is filled', async () => {
  using directory = temporaryDirectory()
  const sandbox = await startSandbox(
    { scenario: 'quiet', plan: 'lite', weeklyQuota: 1_000_000, seed: 5 },
    { clock: systemClock },
  )
  const reading = new AbortController()
  try {
    const bridge = await startBridge(bridgeEnv(sandbox, directory.path, { BRIDGE_UPSTREAM_PLAN: 'lite' }))
    const streamed: ApiEvent[] = []
    // A narrow filter: gaps reach this reader anyway.
    const streaming = readSse(
      `${bridge.ready.http}/v1/events?since=2000-01-01T00:00:00Z&fcaCategories=EOD`,
      ({ event, data }) => {
        if (event === 'gap') streamed.push(JSON.parse(data) as ApiEvent)
      },
      reading.signal,
    )
    // The first answer has the cursor; the second is to a poll with it.
    await eventually(sandbox.usage, ({ units }) => units > 1)
    // Only the second page of the fill is repeated. The items are shown at once, so that one poll leaves some out.
    sandbox.faults.add({ kind: 'repeat-page', path: 'pageCursor=', count: 1 })
    const timestamp = new Date(sandbox.marketNow()).toISOString()
    sandbox.publish(
      Array.from({ length: MORE_THAN_TWO_PAGES }, (_, n) => ({
        guid: `urn:newsml:example:gap:${n}`,
        timestamp,
        headline: `Item ${n}`,
        issuer: { name: 'Alpha' },
      })),
    )
    const status = () => getJson<{ gaps: { id: string; cause: string }[] }>(`${bridge.ready.http}/v1/status`)
    const { gaps } = await eventually(status, (now) => now.gaps.length > 0)
    expect(gaps).toMatchObject([{ cause: 'overflow' }])
    const metrics = async () => (await fetch(`${bridge.ready.ops}/metrics`)).text()
    expect(await metrics()).toContain('bridge_gaps_open 1')
    await eventually(status, (now) => now.gaps.length === 0, 60_000)
    expect(await metrics()).toContain('bridge_gaps_open 0')
    const truth = [...sandbox.truth().items]
    expect(truth.length).toBeGreaterThanOrEqual(MORE_THAN_TWO_PAGES)
    const events = await eventually(
      () => pullAll(bridge.ready.http),
      (pulled) => compare(truth, pulled).missing.length === 0,
    )
    expectComplete(truth, events)
    const gapEvents = compare([], events).gaps
    const states = gapEvents.map(({ type, data }) => [data.id, type])
    expect(states).toEqual(['opened', 'filled'].map((state) => [gaps[0]?.id, `bridge.gap.${state}.v1`]))
    await eventually(
      () => streamed.map((event) => event.id),
      (ids) => ids.length === gapEvents.length,
    )
    expect(streamed.map((event) => event.id)).toEqual(gapEvents.map((event) => event.id))
    reading.abort()
    await streaming
    await bridge.stop()
  } finally {
    reading.abort()
    await sandbox.close()
  }
}, 180_000)

it('page scans get their requests on a plan of one request a second, however often the quota lets the bridge poll', async () => {
  using directory = temporaryDirectory()
  const sandbox = await startSandbox(
    { scenario: 'quiet', plan: 'free', weeklyQuota: ENDLESS, seed: 5 },
    { clock: systemClock },
  )
  try {
    const settings = {
      BRIDGE_UPSTREAM_PLAN: 'free',
      BRIDGE_UPSTREAM_WEEKLY_QUOTA: String(ENDLESS),
      BRIDGE_BACKFILL: 'PT1H',
    }
    const bridge = await startBridge(bridgeEnv(sandbox, directory.path, settings))
    const lines = (): Line[] =>
      bridge
        .stderr()
        .split('\n')
        .filter((line) => line.startsWith('{') && line.endsWith('}'))
        .map((line) => JSON.parse(line) as Line)
    const isEndOfBackfill = ({ event, kind }: Line): boolean =>
      kind === 'backfill' && event.startsWith('page_scan.')
    const ended = await eventually(lines, (seen) => seen.some(isEndOfBackfill), 60_000)
    expect(ended.filter(isEndOfBackfill)[0]?.event).toBe('page_scan.completed')
    expect(ended.filter(({ event }) => event === 'upstream.request_failed')).toEqual([])
    await bridge.stop()
  } finally {
    await sandbox.close()
  }
}, 120_000)
