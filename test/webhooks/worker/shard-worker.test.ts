import { describe, expect, test } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { HOUR_MS } from '../../../src/core/durations.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { countReplay } from '../../../src/webhooks/replay/replay-count.ts'
import { createDeliveryAccount } from '../../../src/webhooks/worker/delivery-account.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { metric } from '../../support/metric.ts'
import { EPOCH } from '../../support/streams/scripted-reader.ts'
import {
  answer,
  endpointOf,
  hangs,
  healthy,
  type Script,
  WebhookWorld,
} from '../../support/webhooks/webhook-world.ts'

const fails: Script = () => ({ end: answer(500), afterMs: 10 })

function worldOf(endpoints: Parameters<typeof endpointOf>[], scripts: Record<string, Script> = {}) {
  return new WebhookWorld({ seed: 1, scripts, endpoints: endpoints.map((given) => endpointOf(...given)) })
}

/** The sequences that the endpoint accepted, in the order of the responses. */
function taken(world: WebhookWorld, endpointId: string): number[] {
  return world.seen
    .filter((one) => one.endpointId === endpointId && one.status === 204 && one.endedMs !== null)
    .sort((one, other) => (one.endedMs ?? 0) - (other.endedMs ?? 0))
    .map(({ sequence }) => sequence)
}

describe('a shard worker', () => {
  test('sends each event once to each endpoint whose filter matches, and gaps to endpoints that name them', async () => {
    const world = worldOf([
      ['all'],
      ['fr', { filter: { fcaCategories: ['FR'] } }],
      ['gaps', { filter: { types: ['gap'] } }],
    ])
    await world.run(100)
    for (const fca of ['FR', 'NAV', null, 'FR']) world.log.add({ fca })
    await world.run(1000)
    expect(taken(world, 'all').sort()).toEqual([1, 2, 4])
    expect(taken(world, 'fr').sort()).toEqual([1, 4])
    expect(taken(world, 'gaps')).toEqual([3])
    await world.stop()
    expect([...world.rows.keys()].sort()).toEqual(['all/position', 'fr/position', 'gaps/position'])
  })

  test('sends the very first event of a log at once', async () => {
    const world = worldOf([['one']])
    world.log.restart(null)
    await world.run(100)
    const addedMs = world.clock.now()
    world.log.add({})
    await world.run(10_000)
    expect(world.seen.map(({ startedMs }) => startedMs - addedMs)).toEqual([0])
    await world.stop()
  })

  test('stops cleanly and resumes without repeating a delivery', async () => {
    const world = worldOf([['one'], ['slow']], {
      slow: ({ chance }) => ({ end: answer(204), afterMs: chance.between(3000, 9000) }),
    })
    for (let count = 0; count < 30; count++) world.log.add({})
    await world.run(5000)
    await world.stop()
    const sent = world.seen.length
    world.start()
    await world.run(HOUR_MS)
    expect(world.seen.length).toBeGreaterThan(sent)
    for (const id of ['one', 'slow'])
      expect(taken(world, id).sort((a, b) => a - b)).toEqual(world.log.events.map((e) => e.sequence))
    await world.stop()
  })

  test('hands over when attempts in flight have ended, hanging ones included: nothing is repeated', async () => {
    const world = worldOf([['one'], ['slow'], ['hanging']], {
      hanging: hangs,
      slow: ({ chance }) => ({ end: answer(204), afterMs: chance.between(9000, 14_900) }),
    })
    for (let count = 0; count < 20; count++) world.log.add({})
    await world.run(5000)
    const [sent, leftMs] = [world.seen.length, world.clock.now()]
    await world.leave()
    expect(world.clock.now() - leftMs).toBeLessThanOrEqual(15_500)
    expect(world.seen).toHaveLength(sent)
    expect(world.seen.every(({ endedMs }) => endedMs !== null)).toBe(true)
    world.start()
    await world.run(HOUR_MS / 4)
    for (const id of ['one', 'slow'])
      expect(taken(world, id).sort((a, b) => a - b)).toEqual(world.log.events.map((e) => e.sequence))
    await world.stop()
  })

  test('hands over within the time limit of a stop', async () => {
    const world = worldOf([['hanging']], { hanging: () => ({ end: answer(204), afterMs: 60_000 }) })
    world.log.add({})
    await world.run(1000)
    const beganMs = world.clock.now()
    void world.leave()
    await world.run(1000)
    await world.stop()
    expect(world.clock.now() - beganMs).toBeLessThanOrEqual(1000 + 15_000 + 10)
  })

  test('is not delayed by an endpoint that hangs', async () => {
    const latencies = async (scripts: Record<string, Script>): Promise<number[]> => {
      const world = worldOf([['well'], ['a'], ['b'], ['c']], scripts)
      await world.run(100)
      for (let count = 0; count < 200; count++) {
        world.log.add({})
        await world.run(50)
      }
      await world.stop()
      return world.seen
        .filter(({ endpointId }) => endpointId === 'well')
        .map(({ startedMs, sequence }) => startedMs - (world.log.events[sequence - 1]?.timeMs ?? 0))
    }
    expect(Math.max(...(await latencies({ a: hangs, b: hangs, c: fails })))).toBe(0)
  })

  test('retries exactly on time, to the millisecond if the endpoint otherwise succeeds', async () => {
    const world = worldOf([['one']], {
      one: ({ eventId, tries }) => ({ end: answer(eventId === 'e2' && tries < 4 ? 500 : 204), afterMs: 10 }),
    })
    for (let count = 0; count < 3; count++) world.log.add({})
    await world.run(HOUR_MS)
    const tries = world.seen.filter(({ sequence }) => sequence === 2)
    const gaps = tries.slice(1).map(({ startedMs }, index) => startedMs - (tries[index]?.endedMs ?? 0))
    for (const [index, planned] of [5000, 30_000, 120_000].entries()) {
      expect(Math.abs((gaps[index] ?? 0) - planned)).toBeLessThanOrEqual(planned / 10 + 1)
    }
    await world.stop()
  })

  test('holds at most a thousand deliveries for a failing endpoint, probes it, and sends all once it responds', async () => {
    let isUp = false
    const world = worldOf([['down']], { down: () => ({ end: answer(isUp ? 204 : 503), afterMs: 10 }) })
    for (let count = 0; count < 1500; count++) world.log.add({})
    await world.run(HOUR_MS)
    expect(world.seen.length).toBeLessThan(90)
    expect(world.worker?.figures().pending).toBeLessThanOrEqual(1000)
    isUp = true
    const upMs = world.clock.now()
    await world.run(HOUR_MS / 4)
    const times = world.seen.filter(({ status }) => status === 204).map(({ startedMs }) => startedMs)
    expect(times).toHaveLength(1500)
    expect((times[0] ?? 0) - upMs).toBeLessThanOrEqual(66_000)
    expect((times[1400] ?? 0) - (times[0] ?? 0)).toBeLessThan(60_000)
    await world.stop()
  })

  test('disables an endpoint that answers 410 or has failed for five days, and sends it nothing more', async () => {
    const cursor = endpointOf('').start
    const failingSinceMs = Date.UTC(2026, 4, 27, 7)
    const world = new WebhookWorld({
      seed: 1,
      endpoints: ['gone', 'broken'].map((id) => endpointOf(id)),
      scripts: { gone: () => ({ end: answer(410), afterMs: 5 }), broken: fails },
      rows: {
        'broken/position': {
          kind: 'position',
          cursor,
          ahead: [],
          failingSinceMs,
          failing: { tries: 10, lastMs: failingSinceMs + 4.5 * 24 * HOUR_MS },
        },
      },
    })
    world.log.add({})
    await world.run(HOUR_MS - 60_000)
    expect(world.disabled).toEqual([{ id: 'gone', reason: 'gone' }])
    world.log.add({})
    await world.run(2 * HOUR_MS)
    expect(world.disabled).toEqual([
      { id: 'gone', reason: 'gone' },
      { id: 'broken', reason: 'failing' },
    ])
    const sent = world.seen.length
    world.log.add({})
    await world.run(2 * HOUR_MS)
    expect(world.seen).toHaveLength(sent)
    expect(world.seen.filter(({ endpointId }) => endpointId === 'gone')).toHaveLength(1)
    expect(world.rows.get('broken/position')).toMatchObject({ failingSinceMs: null })
    await world.stop()
  })

  test('sends a re-enabled endpoint its pending deliveries, though attempts ended after it was disabled', async () => {
    let isBack = false
    const world = worldOf([['gone', { maxConcurrency: 2 }]], {
      gone: ({ eventId }) => ({ end: answer(isBack ? 204 : 410), afterMs: eventId === 'e1' ? 5 : 50 }),
    })
    for (let count = 0; count < 2; count++) world.log.add({})
    await world.run(1000)
    isBack = true
    world.change('gone', { status: 'active' })
    await world.run(1000)
    expect(world.disabled).toEqual([{ id: 'gone', reason: 'gone' }])
    expect(taken(world, 'gone').sort()).toEqual([1, 2])
    await world.stop()
  })

  test('applies changes of an endpoint while it runs: paused, re-enabled, another filter, deleted', async () => {
    const world = worldOf([['one']])
    await world.run(100)
    world.change('one', { status: 'paused' })
    world.log.add({})
    await world.run(1000)
    expect(world.seen).toHaveLength(0)
    world.change('one', { status: 'active' })
    await world.run(1000)
    expect(taken(world, 'one')).toEqual([1])
    world.change('one', { filter: { fcaCategories: ['NAV'] } })
    world.log.add({ fca: 'FR' })
    world.log.add({ fca: 'NAV' })
    await world.run(1000)
    expect(taken(world, 'one')).toEqual([1, 3])
    world.endpoints.delete('one')
    world.worker?.remove('one')
    world.log.add({ fca: 'NAV' })
    await world.run(1000)
    expect(taken(world, 'one')).toEqual([1, 3])
    expect(world.rows.size).toBe(0)
    await world.stop()
  })

  test('continues with its pending deliveries after a change of the log’s epoch', async () => {
    const world = worldOf([['one']], {
      one: ({ tries, chance }) => (tries === 1 ? fails : healthy)({ tries, chance, eventId: '', nowMs: 0 }),
    })
    world.log.add({ id: 'kept' })
    await world.run(1000)
    world.log.restart('Epoch002')
    world.log.add({ id: 'kept' })
    world.log.add({ id: 'new' })
    await world.run(HOUR_MS)
    const ids = new Set(world.seen.filter(({ status }) => status === 204).map(({ webhookId }) => webhookId))
    expect(ids.size).toBe(2)
    await world.stop()
  })

  test('replays a window after new events and across a crash, with the original ids', async () => {
    const world = worldOf([['one', { filter: { fcaCategories: ['FR'] } }]])
    for (let count = 0; count < 60; count++) world.log.add({ fca: count % 2 === 0 ? 'FR' : 'NAV' })
    await world.run(10_000)
    const { reader } = world.log
    const window = { after: 10, until: 50, caller: 'desk' }
    const filter = world.endpoints.get('one')?.filter ?? {}
    const parts = { reader, clock: world.clock }
    const counted = await countReplay(parts, filter, window, new AbortController().signal)
    expect(counted).toEqual({ count: 20, more: false })
    const begun = world.worker?.replay('one', { id: 'rp_1', base: 10, until: 50, only: null, createdAtMs: 0 })
    await world.run(60)
    expect(await begun).toBe(true)
    await world.crash()
    expect(world.rows.has('one/replay/rp_1')).toBe(true)
    world.start()
    await world.run(HOUR_MS)
    const twice = new Set(taken(world, 'one').filter((sequence, at, all) => all.indexOf(sequence) !== at))
    expect([...twice].sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => 11 + 2 * index))
    expect(new Set(world.seen.map(({ webhookId }) => webhookId)).size).toBe(30)
    expect(world.rows.has('one/replay/rp_1')).toBe(false)
    await world.stop()
  })

  test('starts no replay at the moment it loses the shard, and reports that', async () => {
    const world = worldOf([['one']])
    world.log.add({})
    await world.run(1000)
    const { worker } = world
    const crashed = world.crash()
    let isBegun: boolean | undefined | null = null
    void worker
      ?.replay('one', { id: 'rp_1', base: 0, until: 1, only: null, createdAtMs: 0 })
      .then((answered) => {
        isBegun = answered
      })
    await crashed
    expect(isBegun).toBe(false)
  })

  test('does not delay a new event by a replay of two thousand', async () => {
    const start = encodeCursor({ epoch: EPOCH, sequence: 2000, timeMs: 0 })
    const world = worldOf([['one', { maxConcurrency: 2, start }]])
    for (let count = 0; count < 2000; count++) world.log.add({})
    await world.run(1000)
    void world.worker?.replay('one', { id: 'rp_1', base: 0, until: 2000, only: null, createdAtMs: 0 })
    await world.run(1000)
    const lateness: number[] = []
    for (let count = 0; count < 50; count++) {
      const sequence = world.log.add({})
      const addedMs = world.clock.now()
      await world.run(100)
      const [sent] = world.seen.filter((one) => one.sequence === sequence)
      lateness.push((sent?.startedMs ?? Number.POSITIVE_INFINITY) - addedMs)
    }
    expect(world.worker?.machineOf('one')?.cursors.replayIds()).toEqual(['rp_1'])
    expect(Math.max(...lateness)).toBe(0)
    await world.run(HOUR_MS)
    expect(new Set(taken(world, 'one')).size).toBe(2050)
    expect(taken(world, 'one')).toHaveLength(2050)
    await world.stop()
  })

  test('replays single events, dead ones included, whose record is deleted on success', async () => {
    const cursor = encodeCursor({ epoch: EPOCH, sequence: 1, timeMs: 0 })
    const world = new WebhookWorld({
      seed: 1,
      endpoints: [endpointOf('one')],
      scripts: {},
      rows: {
        'one/position': { kind: 'position', cursor, ahead: [], failingSinceMs: null },
        'one/dead/1': {
          kind: 'dead',
          cursor,
          eventId: 'e1',
          tries: 9,
          lastStatus: 500,
          cause: 'tries',
          diedAtMs: 0,
        },
      },
    })
    for (let count = 0; count < 4; count++) world.log.add({})
    await world.run(60_000)
    void world.worker?.replay('one', { id: 'rp_1', base: 0, until: 4, only: [1, 3], createdAtMs: 0 })
    await world.run(60_000)
    expect(taken(world, 'one').slice(0, 3).sort()).toEqual([2, 3, 4])
    expect(taken(world, 'one').slice(3).sort()).toEqual([1, 3])
    expect([...world.rows.keys()]).toEqual(['one/position'])
    await world.stop()
  })

  test('replays only the dead deliveries of a window, across a crash, none of them twice', async () => {
    const cursorOf = (sequence: number): string => encodeCursor({ epoch: EPOCH, sequence, timeMs: 0 })
    const death = { kind: 'dead', tries: 9, lastStatus: 500, cause: 'tries', diedAtMs: 0 } as const
    const world = new WebhookWorld({
      seed: 1,
      endpoints: [endpointOf('one', { maxConcurrency: 1 })],
      scripts: {},
      rows: {
        'one/position': { kind: 'position', cursor: cursorOf(6), ahead: [], failingSinceMs: null },
        ...Object.fromEntries(
          [1, 2, 3, 5, 6].map((sequence) => [
            `one/dead/${sequence}`,
            { ...death, cursor: cursorOf(sequence), eventId: `e${sequence}` },
          ]),
        ),
      },
    })
    const dead = (): string[] => [...world.rows.keys()].filter((key) => key.includes('/dead/'))
    for (let count = 0; count < 7; count++) world.log.add({})
    await world.run(1000)
    expect(taken(world, 'one')).toEqual([7])
    expect(world.worker?.machineOf('one')?.dead.in(1, 5).length).toBe(3)
    const wish = { id: 'rp_1', base: 1, until: 5, only: 'dead', createdAtMs: 0 } as const
    const begun = world.worker?.replay('one', wish)
    await world.run(30)
    expect(await begun).toBe(true)
    await world.crash()
    expect(world.rows.get('one/replay/rp_1')).toMatchObject({ only: 'dead', until: 5 })
    expect(dead().length).toBeGreaterThan(2)
    world.start()
    await world.run(1)
    expect(await world.worker?.replay('one', wish)).toBe(true)
    expect(world.worker?.machineOf('one')?.cursors.replayIds()).toEqual(['rp_1'])
    await world.run(HOUR_MS)
    expect([...new Set(taken(world, 'one').slice(1))]).toEqual([2, 3, 5])
    expect(dead()).toEqual(['one/dead/1', 'one/dead/6'])
    expect(world.worker?.machineOf('one')?.cursors.replayIds()).toEqual([])
    await world.stop()
  })

  test('reports metrics and one log line per attempt', async () => {
    const world = worldOf([['one'], ['two']], { two: fails })
    world.log.add({})
    await world.run(1000)
    const metrics = createMetrics({ version: '1' })
    const { logger, lines } = keepingLogger()
    const account = createDeliveryAccount({ clock: world.clock, metrics, logger })
    for (const attempted of world.attempted) account.attempted(attempted)
    account.measure(world.worker === null ? [] : [world.worker.figures()])
    expect(await metric({ metrics }, 'webhook_attempts_total{outcome="ok"}')).toBe(1)
    expect(await metric({ metrics }, 'webhook_attempts_total{outcome="server_error"}')).toBe(1)
    expect(await metric({ metrics }, 'webhook_delivery_latency_seconds_count')).toBe(1)
    expect(await metric({ metrics }, 'webhook_pending')).toBe(1)
    expect(await metric({ metrics }, 'webhook_oldest_pending_seconds')).toBe(1)
    expect(await metric({ metrics }, 'webhook_dead')).toBe(0)
    expect(await metric({ metrics }, 'webhook_failing_endpoints')).toBe(1)
    expect(lines.map(({ level, fields }) => [level, fields.outcome, fields.result])).toEqual(
      expect.arrayContaining([
        ['debug', 'ok', 'delivered'],
        ['info', 'server_error', 'retry'],
      ]),
    )
    await world.stop()
  })
})
