import fc from 'fast-check'
import { expect, test } from 'vitest'
import { playWorld } from '../support/webhooks/webhook-cases.ts'

test('every delivery ends or keeps a row despite crashes, lost shards and failed writes; limits on repeats, order and slots hold', async () => {
  let crashes = 0
  let attempts = 0
  let repeats = 0
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (seed) => {
      const played = await playWorld(seed)
      expect(played.breaches).toEqual([])
      crashes += played.crashes
      attempts += played.world.seen.length
      const taken = played.world.seen.filter(({ status, endedMs }) => status === 204 && endedMs !== null)
      repeats += taken.length - new Set(taken.map(({ webhookId }) => webhookId)).size
    }),
    { numRuns: Number(process.env.WORLDS ?? 8), endOnFailure: true },
  )
  expect(crashes).toBeGreaterThan(0)
  expect(attempts).toBeGreaterThan(10 * crashes)
  expect(repeats).toBeGreaterThan(0)
})
