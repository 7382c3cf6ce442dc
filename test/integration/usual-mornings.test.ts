/**
 * Tests the morning of `e2e/morning.test.ts` on the smallest plan, in virtual time, where a busy machine cannot make
 * fills longer. Fills on lite come nearest to the two seconds after which a gap is announced.
 */
import { expect, it } from 'vitest'
import { readJourney } from '../../src/archive/journeys.ts'
import { isGap } from '../../src/core/event.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { runWorld } from '../support/worlds/sandbox-world.ts'

/** The scenario's clock steps over the quiet from 07:00:12 to 07:09:52; the poller's does not. */
const SKIPPED_MS = 580_000

const metrics = createMetrics({ version: 'test' })

it.each([5, 6, 7])(
  'the poller fills the overflows of a usual morning on lite without a gap (seed %i)',
  async (seed) => {
    using directory = temporaryDirectory()
    const { stuck, events, truth, lines } = await runWorld(
      {
        scenario: 'morning-short',
        seed,
        plan: 'lite',
        weeklyQuota: 1_000_000,
        backfillMs: 0,
        clockOffMs: 0,
        faults: [],
        faultsUntilMs: 0,
        ends: [],
        marketMs: 120_000,
      },
      { dataDir: directory.path, metrics },
    )
    const fills = lines.filter(
      ({ event, fields }) => event === 'page_scan.completed' && fields.kind === 'fill',
    ).length
    expect(fills).toBeGreaterThan(0)
    const gaps = events.filter(({ type }) => isGap(type))
    expect({ stuck, gaps, items: events.length }).toEqual({
      stuck: null,
      gaps: [],
      items: truth.items.length,
    })
    // Each item says which request brought it: a poll after the one before it, or a page of a fill.
    const told = events.map(({ foundBy, journey = '' }) => {
      const { aheadMs, ...kept } = readJourney(journey)
      return { aheadMs, told: { foundBy, ...kept } }
    })
    const fillJourney = { requestMs: expect.any(Number), scan: 'fill', scanMs: expect.any(Number) }
    const pollJourney = {
      requestMs: expect.any(Number),
      sincePollMs: expect.any(Number),
      plannedMs: expect.any(Number),
    }
    const [filled = [], polled = []] = ['fill', 'poll'].map((way) =>
      told.filter(({ told: { foundBy } }) => foundBy === way).map((one) => one.told),
    )
    expect(filled.length).toBeGreaterThan(0)
    expect(polled.length).toBeGreaterThan(0)
    for (const one of filled) expect(one).toEqual({ foundBy: 'fill', ...fillJourney })
    for (const one of polled) expect(one).toEqual({ foundBy: 'poll', ...pollJourney })
    // From the step on upstream's clock is ahead of the poller's, and each item says so as soon as that is known.
    const ahead = told.flatMap(({ aheadMs }) => aheadMs ?? [])
    expect(ahead.length).toBeGreaterThan(0)
    expect(told.slice(-ahead.length).every(({ aheadMs }) => aheadMs !== undefined)).toBe(true)
    for (const ms of ahead) expect(Math.abs(ms - SKIPPED_MS)).toBeLessThan(1_000)
  },
)
