/**
 * Tests the morning of `e2e/morning.test.ts` on the smallest plan, in virtual time, where a busy machine cannot make
 * fills longer. Fills on lite come nearest to the two seconds after which a gap is announced.
 */
import { expect, it } from 'vitest'
import { isGap } from '../../src/core/event.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { runWorld } from '../support/worlds/sandbox-world.ts'

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
  },
)
