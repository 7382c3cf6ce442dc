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
  const first = newGap(context, 'outage', START - HOUR, START)
  context.state.head = { ...context.state.head, openGaps: [first] }
  expect(newGap(context, 'overflow', START - DAY, START).id).not.toBe(first.id)
})
