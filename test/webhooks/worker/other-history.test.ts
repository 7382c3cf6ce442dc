/** Tests where an endpoint continues in a log that a backup has replaced, or that this node has not replicated yet. */
import { describe, expect, test } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { REPLICA } from '../../support/store.ts'
import { EPOCH } from '../../support/streams/scripted-reader.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import {
  answer,
  endpointOf,
  healthy,
  type Script,
  WebhookWorld,
} from '../../support/webhooks/webhook-world.ts'

const fails: Script = () => ({ end: answer(500), afterMs: 10 })

function worldOf(options: { replica?: typeof REPLICA; script?: Script } = {}) {
  const { script, ...rest } = options
  return new WebhookWorld({
    seed: 1,
    scripts: script === undefined ? {} : { one: script },
    endpoints: [endpointOf('one')],
    ...rest,
  })
}

/** The sequences that were sent in this life of the process, in their order. */
const sentIn = (world: WebhookWorld, life: number): number[] =>
  [...new Set(world.seen.filter((one) => one.life === life).map(({ sequence }) => sequence))].sort(
    (one, other) => one - other,
  )

async function addEvents(world: WebhookWorld, count: number): Promise<void> {
  for (let added = 0; added < count; added++) world.log.add({})
  await world.run(1000)
}

test('a paused endpoint whose next events the log drops meanwhile goes on at the oldest, and the log says so', async () => {
  const world = worldOf()
  await addEvents(world, 2)
  world.change('one', { status: 'paused' })
  await addEvents(world, 6)
  world.log.forget(6)
  world.change('one', { status: 'active' })
  await addEvents(world, 1)
  expect(sentIn(world, 1)).toEqual([1, 2, 6, 7, 8, 9])
  expect(world.lines).toMatchObject([
    { level: 'warn', event: 'webhook.fell_behind', fields: { endpointId: 'one', sequence: 5 } },
  ])
  await world.stop()
})

describe('the position of an endpoint', () => {
  test('ahead of the embedded log is of another history: the last hour is sent again', async () => {
    const world = worldOf()
    await addEvents(world, 8)
    await world.stop()
    world.log.restart(EPOCH)
    await addEvents(world, 5)
    world.start()
    await addEvents(world, 2)
    expect(sentIn(world, 2)).toEqual([1, 2, 3, 4, 5, 6, 7])
    await world.stop()
  })

  test('whose event has another time is of another history', async () => {
    const world = worldOf()
    await addEvents(world, 8)
    await world.stop()
    world.log.restart(EPOCH)
    await world.run(10)
    await addEvents(world, 9)
    world.start()
    await world.run(1000)
    expect(sentIn(world, 2)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    await world.stop()
  })

  test('ahead of a replica waits until the replica has reached it, and continues after it', async () => {
    const { timeMs, world } = ahead(0)
    await addEvents(world, 1)
    expect(sentIn(world, 1)).toEqual([])
    // Its deliveries are not loaded yet: the report of the last owner holds.
    expect(world.worker?.standings()).toBeNull()
    await addEvents(world, 3)
    expect(world.worker?.standings()?.size).toBe(1)
    expect(world.log.events[2]?.timeMs).toBe(timeMs)
    expect(sentIn(world, 1)).toEqual([4])
    await world.stop()
  })

  test('ahead of a replica is of another history where the event that is reached has another time', async () => {
    const { world } = ahead(1)
    await addEvents(world, 1)
    expect(sentIn(world, 1)).toEqual([])
    await addEvents(world, 3)
    expect(sentIn(world, 1)).toEqual([1, 2, 3, 4])
    await world.stop()
  })
})

test('a waiting delivery of another history is dropped, and its time is sent again', async () => {
  const world = worldOf({ script: (asked) => (asked.tries === 1 ? fails : healthy)(asked) })
  await addEvents(world, 3)
  expect([...world.rows.keys()].filter((key) => key.includes('/retry/'))).toHaveLength(3)
  await world.crash()
  world.log.restart(EPOCH)
  await world.run(10)
  await addEvents(world, 4)
  world.start()
  await world.run(60_000)
  expect(sentIn(world, world.life)).toEqual([1, 2, 3, 4])
  await world.stop()
})

/** A replica without events, and an endpoint whose position is the third of those that come; `skewMs` falsifies its time. */
function ahead(skewMs: number) {
  // The clock of a world starts anew, and the events come in its second second.
  const timeMs = createManualClock().now() + 1000
  const cursor = encodeCursor({ epoch: EPOCH, sequence: 3, timeMs: timeMs + skewMs })
  const world = new WebhookWorld({
    seed: 1,
    scripts: {},
    endpoints: [endpointOf('one')],
    replica: REPLICA,
    rows: { 'one/position': { kind: 'position', cursor, ahead: [], failingSinceMs: null } },
  })
  return { world, timeMs }
}
