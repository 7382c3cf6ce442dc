import { expect, it } from 'vitest'
import { killRun } from '../campaign/kills.ts'

it('loses nothing and repeats nothing through twenty kill -9 during a flood; cursor and units are right', async () => {
  const run = await killRun(3, 20)
  expect(run).toMatchObject({ missing: 0, twice: 0, holes: 0, gapsLeft: 0, refused: 0 })
  expect(run.events).toBeGreaterThanOrEqual(run.shown)
  expect(run.unitsByLedger).toBeGreaterThanOrEqual(run.unitsByUpstream)
  expect(run.unitsByLedger - run.unitsByUpstream).toBeLessThanOrEqual(20)
}, 600_000)
