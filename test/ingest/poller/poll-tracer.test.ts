/** Tests the traces of real polls, fills and re-scans over a sandbox, in virtual time, through a crash and a failing upstream. */
import { expect, it } from 'vitest'
import { traceOfJourney } from '../../../src/archive/journeys.ts'
import { isGap } from '../../../src/core/event.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { type KeptSpan, keptSpans } from '../../support/kept-spans.ts'
import { runWorld, type WorldPlan } from '../../support/worlds/sandbox-world.ts'

const morning: WorldPlan = {
  scenario: 'morning-short',
  seed: 5,
  plan: 'lite',
  weeklyQuota: 1_000_000,
  backfillMs: 0,
  clockOffMs: 0,
  faults: [],
  faultsUntilMs: 0,
  ends: [],
  marketMs: 120_000,
}

async function traced(plan: WorldPlan) {
  using directory = temporaryDirectory()
  const { spans, tracing } = keptSpans()
  const metrics = createMetrics({ version: 'test' })
  const run = await runWorld(plan, { dataDir: directory.path, metrics, tracing })
  const byId = new Map(spans.map((span) => [span.trace.spanId, span]))
  const parentOf = ({ parentId }: KeptSpan) => byId.get(parentId ?? '')
  const named = (name: KeptSpan['name']) => spans.filter((span) => span.name === name)
  return { run, spans, named, parentOf }
}

it('a poll is a trace with its request, the fill of its overflow and the commits of both, each inside its parent', async () => {
  const { run, spans, named, parentOf } = await traced(morning)
  expect(run.stuck).toBeNull()
  const polls = named('poll')
  expect(polls.length).toBeGreaterThan(10)
  expect(polls.filter(({ parentId }) => parentId !== null)).toEqual([])
  expect(new Set(polls.map(({ trace }) => trace.traceId)).size).toBe(polls.length)

  const fills = named('scan').filter(({ attributes }) => attributes.scan === 'fill')
  expect(fills.length).toBeGreaterThan(0)
  expect(fills.map((fill) => parentOf(fill)?.name)).toEqual(fills.map(() => 'poll'))

  // The stop of the world cuts off one at most.
  expect(polls.filter(({ failure }) => failure !== undefined).length).toBeLessThanOrEqual(1)

  const requests = named('request')
  expect(requests.length).toBe(run.pages.length)
  for (const request of requests) {
    const isOfPoll = request.attributes.purpose === 'poll' || request.attributes.purpose === 'probe'
    expect(parentOf(request)?.name).toBe(isOfPoll ? 'poll' : 'scan')
  }

  // Each event keeps the poll or the scan that brought it, whichever of its trace has published it.
  const brought = run.events.map(({ journey }) => traceOfJourney(journey))
  const polledOrScanned = new Set(
    [...polls, ...named('scan')].map(({ trace: { traceId, spanId } }) => `${traceId} ${spanId}`),
  )
  expect(brought.filter((trace) => trace === null)).toEqual([])
  expect(
    brought.filter((trace) => trace && !polledOrScanned.has(`${trace.traceId} ${trace.spanId}`)),
  ).toEqual([])
  expect(new Set(brought.map((trace) => trace?.traceId)).size).toBeGreaterThan(5)

  const committed = named('commit').map(({ attributes }) => Number(attributes.events))
  expect(committed.reduce((sum, events) => sum + events, 0)).toBe(run.events.length)

  for (const span of spans) {
    const parent = parentOf(span)
    if (span.endMs === null) throw new Error(`${span.name} never ended`)
    if (parent === undefined) continue
    expect(span.trace.traceId).toBe(parent.trace.traceId)
    expect(span.startMs).toBeGreaterThanOrEqual(parent.startMs)
    // What waits for a commit at the stop of the world is cut off with it.
    if (parent.failure === undefined) expect(span.endMs).toBeLessThanOrEqual(parent.endMs ?? 0)
  }
})

it('scans say how many pages they have read and how many items they have published; only those of a gap have its cause', async () => {
  const { run, spans, named, parentOf } = await traced({ ...morning, backfillMs: 3_600_000 })
  const scans = named('scan')
  expect(new Set(scans.map(({ attributes }) => attributes.scan)).size).toBeGreaterThan(1)
  for (const scan of scans) {
    const own = spans.filter((span) => parentOf(span) === scan && span.failure === undefined)
    const published = own.flatMap(({ name, attributes }) =>
      name === 'commit' ? run.events.filter((event) => isItemBetween(event, attributes)) : [],
    )
    const isOfGap = scan.attributes.scan === 'fill' || scan.attributes.scan === 'gap_retry'
    expect(scan.attributes).toMatchObject({
      pages: own.filter(({ name }) => name === 'request').length,
      published: published.length,
    })
    expect(scan.attributes.cause !== undefined, String(scan.attributes.scan)).toBe(isOfGap)
  }
  expect(scans.some(({ attributes }) => Number(attributes.published) > 100)).toBe(true)
})

function isItemBetween({ sequence, type }: { sequence: number; type: string }, of: KeptSpan['attributes']) {
  return !isGap(type) && sequence >= Number(of['sequence.first']) && sequence <= Number(of['sequence.last'])
}

it('polls say what they brought, and a poll without items is one too', async () => {
  const { named } = await traced(morning)
  const told = named('poll').map(({ attributes }) => attributes)
  expect(told).toContainEqual(
    expect.objectContaining({
      result: 'new',
      items: expect.any(Number),
      'items.new': expect.any(Number),
      'cursor.advanced': true,
      'plan.interval_s': expect.any(Number),
      'http.response.status_code': 200,
    }),
  )
  expect(told).toContainEqual(expect.objectContaining({ result: 'empty', 'items.new': 0 }))
})

it('a refused request is a failed span with its status; a crash leaves nothing open', async () => {
  const { run, spans, named } = await traced({
    ...morning,
    faults: [{ atMs: 5_000, setting: { kind: 'status', status: 503, count: 3 } }],
    faultsUntilMs: 40_000,
    ends: [{ atMs: 50_000, how: 'crash' }],
  })
  expect(run.stuck).toBeNull()
  const failed = named('request').filter(({ failure }) => failure === 'server_error')
  expect(failed.length).toBeGreaterThan(0)
  expect(failed[0]?.attributes['http.response.status_code']).toBe(503)
  expect(spans.filter(({ endMs }) => endMs === null)).toEqual([])
})
