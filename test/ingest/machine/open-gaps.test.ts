/** Tests that an open gap never takes the place of another one. */
import { expect, test } from 'vitest'
import { newGap } from '../../../src/ingest/machine/publish.ts'
import { initialState, type StepContext } from '../../../src/ingest/machine/state.ts'
import type { OpenGap } from '../../../src/ingest/writer-state/head.ts'
import { ingestConfig } from '../../support/worlds/ingest-config.ts'
import { World } from '../../support/worlds/ingest-world.ts'
import { burst } from '../../support/worlds/world-upstream.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const START = Date.parse('2026-01-06T06:00:00Z')

test('a first start whose backfill is too dear keeps the gaps that are open, for example after a repair of the log', () => {
  const open: OpenGap = {
    ...{ id: 'repaired', from: '2025-12-01T00:00:00.000Z', to: '2025-12-02T00:00:00.000Z', cause: 'outage' },
    ...{ openedAt: '2026-01-06T05:00:00.000Z', found: 0, closedAt: null, attempts: 0 },
    retryAtMs: START + DAY,
  }
  const world = new World({
    ...{ pageSize: 50, weeklyQuota: 350, seed: 1, startMs: START, backfillMs: 30 * DAY },
    items: burst('old', START - DAY, HOUR, 10),
  })
  world.store.head = { ...world.store.head, openGaps: [open] }
  world.run(START + HOUR)
  expect(world.openGaps.length).toBe(2)
  expect(world.openGaps.map(({ id }) => id)).toContain('repaired')
})

test('two gaps that open in the same millisecond have different ids', () => {
  const context: StepContext = { state: initialState(), actions: [], config: ingestConfig(), nowMs: START }
  const first = newGap(context, 'outage', { fromMs: START - HOUR, toMs: START })
  context.state.head = { ...context.state.head, openGaps: [first] }
  expect(newGap(context, 'overflow', { fromMs: START - DAY, toMs: START }).id).not.toBe(first.id)
})

test('due times of a process whose clock was days ahead are stored by the clock of the next one', () => {
  const world = new World({ pageSize: 50, weeklyQuota: 350, seed: 1, startMs: START, items: [] })
  world.run(START + HOUR)
  world.stop()
  const range = { from: '2026-01-05T00:00:00.000Z', to: '2026-01-05T01:00:00.000Z', cause: 'outage' as const }
  const open: OpenGap = {
    ...{ ...range, id: 'ahead', openedAt: '2026-01-06T06:30:00.000Z', found: 0, closedAt: null, attempts: 9 },
    retryAtMs: START + 6 * DAY,
  }
  world.store.head = { ...world.store.head, openGaps: [open], lastSpendMs: START + 5 * DAY + HOUR }
  world.start()
  world.run(START + HOUR + 10_000)
  expect(world.openGaps.map(({ retryAtMs }) => Math.round((retryAtMs - world.nowMs) / HOUR))).toEqual([23])
})
