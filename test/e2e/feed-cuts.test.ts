import { expect, it } from 'vitest'
import { feedCutRun } from '../campaign/feed-cuts.ts'

const KEPT = { missing: 0, announced: 0, foreign: 0, disordered: 0, untold: 0, broken: [] }

it('gives each of a hundred readers exactly its events, in order, through five cuts each, a kill and a new epoch', async () => {
  const run = await feedCutRun({ seed: 1, readers: 100, cuts: 5, speed: 4, forgets: false })
  expect(run).toMatchObject(KEPT)
  expect(run.went.cuts).toBe(500)
  expect(run.taken).toBeGreaterThan(10_000)
}, 240_000)
