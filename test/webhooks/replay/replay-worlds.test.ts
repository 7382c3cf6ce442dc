/** Tests replays in random worlds: crashes, failing receivers, refused writes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seededChance } from '../../../src/core/chance.ts'
import { HOUR_MS } from '../../../src/core/durations.ts'
import { matches } from '../../../src/core/filter/filter.ts'
import { deadKey } from '../../../src/webhooks/delivery-state/delivery-rows.ts'
import type { RequestedReplay } from '../../../src/webhooks/worker/shard-worker.ts'
import {
  answer,
  endpointOf,
  healthy,
  type Script,
  WebhookWorld,
} from '../../support/webhooks/webhook-world.ts'

const ID = 'one'
/** An attempt that ended less than this before may not be durable: then it counts as in flight, and is not sent twice. */
const WRITTEN_MS = 100
const shaky: Script = (attempt) =>
  attempt.chance.yes(0.15) ? { end: answer(500), afterMs: 20 } : healthy(attempt)

test('after a durable replay each of its events is sent once more or has a dead-delivery record, despite any faults', async () => {
  let replayed = 0
  await fc.assert(
    // Without the bias to small numbers, which plays the same few worlds again and again.
    fc.asyncProperty(fc.noBias(fc.nat()), async (seed) => {
      const chance = seededChance(seed)
      const filter = chance.pick([{}, { fcaCategories: ['FR'] }])
      const world = new WebhookWorld({
        seed,
        endpoints: [
          endpointOf(ID, {
            filter,
            maxConcurrency: chance.between(1, 6),
            order: chance.pick(['none', 'issuer']),
          }),
        ],
        scripts: { [ID]: chance.pick([shaky, healthy]) },
      })
      const add = (count: number): void => {
        for (let left = count; left > 0; left--) {
          world.log.add({ subject: chance.pick(['a', 'b', 'c']), fca: chance.pick(['FR', 'NAV']) })
        }
      }
      add(chance.between(5, 60))
      await world.run(chance.pick([500, 20_000, HOUR_MS]))
      const base = chance.between(0, world.log.events.length - 1)
      const until = chance.between(base + 1, world.log.events.length)
      const sequences = Array.from({ length: until - base }, (_, index) => base + 1 + index)
      const only = chance.yes(0.3) ? sequences.filter(() => chance.yes(0.4)) : null
      world.refusals = chance.pick([0, 0.3])
      const wish: RequestedReplay = { id: 'rp_1', base, until, only, createdAtMs: world.clock.now() }
      let isDurable = false
      for (let tries = 0; !isDurable && tries < 50; tries++) {
        // As the command runner does: requested again until it is durable.
        void world.worker?.replay(ID, wish).then((is) => {
          isDurable ||= is
        })
        await world.run(chance.between(1, 400))
        if (!isDurable && chance.yes(0.3)) {
          await world.crash()
          world.start()
        }
      }
      for (let crashes = chance.between(0, 4); crashes > 0; crashes--) {
        add(chance.between(0, 5))
        await world.run(chance.between(0, 300))
        await world.crash()
        world.start()
      }
      world.refusals = 0
      await world.run(10_000)
      for (let hours = 0; hours < 72 && world.worker?.figures().pending !== 0; hours++)
        await world.run(HOUR_MS)
      const again = new Set(
        world.seen
          .filter(
            ({ status, endedMs }) =>
              status === 204 && endedMs !== null && endedMs >= wish.createdAtMs - WRITTEN_MS,
          )
          .map(({ sequence }) => sequence),
      )
      const wanted = world.log.events
        .filter(({ sequence }) => (only ?? sequences).includes(sequence))
        .filter(({ facts }) => only !== null || matches(filter, facts))
      const missing = wanted.filter(
        ({ sequence }) => !again.has(sequence) && !world.rows.has(deadKey(ID, sequence)),
      )
      expect(isDurable).toBe(true)
      expect(missing.map(({ sequence }) => sequence)).toEqual([])
      expect(world.worker?.machineOf(ID)?.cursors.replayIds()).toEqual([])
      await world.stop()
      expect([...world.rows.keys()].filter((key) => key.includes('/replay/'))).toEqual([])
      replayed += wanted.length
    }),
    { numRuns: Number(process.env.WORLDS ?? 30) },
  )
  expect(replayed).toBeGreaterThan(20)
})

test('a replay that is asked for again before its row is durable is durable for nobody yet', async () => {
  const world = new WebhookWorld({ seed: 1, endpoints: [endpointOf(ID)], scripts: { [ID]: healthy } })
  world.log.add({ subject: 'a', fca: 'FR' })
  await world.run(1_000)
  world.refusals = 1
  const answers: string[] = []
  const wish: RequestedReplay = { id: 'rp_1', base: 0, until: 1, only: null, createdAtMs: world.clock.now() }
  void world.worker?.replay(ID, wish).then((isDurable) => answers.push(`first ${isDurable}`))
  await world.run(50)
  void world.worker?.replay(ID, wish).then((isDurable) => answers.push(`second ${isDurable}`))
  await world.run(1_000)
  expect(answers).toEqual([])
  world.refusals = 0
  await world.run(10_000)
  expect(answers.toSorted()).toEqual(['first true', 'second true'])
  await world.stop()
})
