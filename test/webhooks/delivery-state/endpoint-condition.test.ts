import { describe, expect, test } from 'vitest'
import type { AttemptEnd } from '../../../src/core/attempt-end.ts'
import { DAY_MS, HOUR_MS } from '../../../src/core/durations.ts'
import type { DeliveryRow } from '../../../src/webhooks/delivery-state/delivery-rows.ts'
import type { EndpointMachine } from '../../../src/webhooks/delivery-state/endpoint-machine.ts'
import {
  at,
  BROKEN,
  event,
  GONE,
  machineOf,
  OK,
  PLAIN,
  sent,
  UNCONNECTED,
} from '../../support/webhooks/endpoint-machines.ts'

const answered = (status: number, retryAfter: string | null = null): AttemptEnd => ({
  kind: 'answered',
  status,
  retryAfter,
})
const events = (count: number, from = 1) => Array.from({ length: count }, (_, index) => event(from + index))

/** Runs the machine from `fromMs` until nothing is left or `untilMs`; gives when each delivery was accepted. */
function run(
  { machine, write }: { machine: EndpointMachine; write: () => ReadonlyMap<string, DeliveryRow | null> },
  receive: (sequence: number, nowMs: number) => AttemptEnd,
  untilMs: number,
): Map<number, number> {
  const accepted = new Map<number, number>()
  for (let nowMs = 0; nowMs <= untilMs; nowMs = Math.max(nowMs + 1, machine.wakeAtMs() ?? untilMs + 1)) {
    for (let starts = sent(machine, nowMs); starts.length > 0; starts = sent(machine, nowMs)) {
      for (const sequence of starts) {
        const end = receive(sequence, nowMs)
        machine.ended(sequence, end, at(nowMs))
        if (end === OK) accepted.set(sequence, nowMs)
      }
      write()
    }
  }
  return accepted
}

describe('an endpoint that was changed while an attempt was under way', () => {
  test('is not disabled by a 410 of its former address, whose delivery is due at once', () => {
    const { machine, offer, write } = machineOf()
    offer(event(1))
    sent(machine)
    machine.configure({ ...PLAIN, target: 'b' })
    expect(machine.ended(1, GONE, at(50))).toMatchObject({ next: 'retry', delayMs: 0 })
    expect([machine.disableReason, machine.failingSinceMs]).toEqual([null, null])
    expect(write().get('ep_1/retry/1')).toMatchObject({ tries: 0, dueMs: 50 })
    expect(machine.next(50)).toMatchObject({ attempt: 1 })
    machine.ended(1, GONE, at(60))
    expect(machine.disableReason).toBe('gone')
  })

  test('is not disabled by an attempt that hung while it was enabled again', () => {
    const { machine, offer } = machineOf()
    offer(event(1))
    sent(machine)
    machine.configure({ ...PLAIN, isActive: false })
    machine.configure(PLAIN)
    machine.ended(1, GONE, at(50))
    expect(machine.disableReason).toBeNull()
  })

  test('has a clean record: breaker, pause and the five days end with the former address', () => {
    const { machine, offer, write } = machineOf(
      { maxConcurrency: 8 },
      { failingSinceMs: 0, heldUntilMs: 9e6 },
    )
    offer(...events(8))
    expect(sent(machine, 1)).toEqual([])
    machine.configure({ ...PLAIN, maxConcurrency: 8, target: 'b' })
    expect(sent(machine, 1)).toHaveLength(8)
    expect(write().get('ep_1/position')).toMatchObject({ failingSinceMs: null })
  })

  test('keeps its record where only its filter or its limits changed', () => {
    const { machine } = machineOf({}, { failingSinceMs: 5 })
    machine.configure({ ...PLAIN, maxConcurrency: 9 })
    expect(machine.failingSinceMs).toBe(5)
  })
})

describe('a receiver that asks for a pause', () => {
  test.each([429, 503])('with %i gets nothing before it is over, no first try either', (status) => {
    const { machine, offer, write } = machineOf({ maxConcurrency: 2 })
    offer(...events(4))
    expect(sent(machine)).toEqual([1, 2])
    machine.ended(1, answered(status, '30'), at(100))
    machine.ended(2, OK, at(150))
    expect(write().get('ep_1/position')).toMatchObject({ heldUntilMs: 30_100 })
    expect(machine.wakeAtMs()).toBe(30_100)
    expect(sent(machine, 30_099)).toEqual([])
    expect(sent(machine, 30_100)).toHaveLength(2)
  })

  test('gets none before the latest of several pauses, and keeps it over a restart', () => {
    const { machine, offer, write } = machineOf()
    offer(...events(4))
    sent(machine)
    machine.ended(1, answered(429, '60'), at(0))
    machine.ended(2, answered(429, '1'), at(0))
    const { heldUntilMs = 0 } = write().get('ep_1/position') as { heldUntilMs?: number }
    const next = machineOf({}, { heldUntilMs })
    next.offer(...events(2))
    expect([sent(next.machine, 59_999), sent(next.machine, 60_000)]).toEqual([[], [1, 2]])
  })

  test('waits no longer where our clock is set back, over a restart too', () => {
    const { machine, offer, write } = machineOf({ maxConcurrency: 2 })
    offer(...events(2))
    sent(machine, 2 * HOUR_MS)
    machine.ended(1, answered(503, '60'), at(2 * HOUR_MS))
    const row = write().get('ep_1/position') as { heldUntilMs?: number; heldSinceMs?: number }
    const { heldUntilMs = 0, heldSinceMs = 0 } = row
    const next = machineOf({}, { heldUntilMs, heldSinceMs })
    next.offer(...events(2))
    for (const one of [machine, next.machine]) {
      expect(sent(one, 0)).toEqual([])
      expect(one.wakeAtMs()).toBe(60_000)
      expect(sent(one, 60_000)).not.toEqual([])
    }
  })

  test('of an older build, whose clock is set back, waits a day at most', () => {
    const { machine, offer } = machineOf({}, { heldUntilMs: 10 * DAY_MS })
    offer(event(1))
    expect(sent(machine, 0)).toEqual([])
    expect(machine.wakeAtMs()).toBe(DAY_MS)
  })

  test('that takes ten a second gets 300 in 31 s, with a refused try for each accepted one at most', () => {
    const world = machineOf({ maxConcurrency: 8 })
    let [windowMs, taken, refused] = [0, 0, 0]
    let next = 1
    const receive = (_: number, nowMs: number): AttemptEnd => {
      if (nowMs - windowMs >= 1000) [windowMs, taken] = [nowMs, 0]
      taken += 1
      if (taken <= 10) return OK
      refused += 1
      return answered(429, '1')
    }
    const feed = (sequence: number, nowMs: number): AttemptEnd => {
      const end = receive(sequence, nowMs)
      for (; next <= 300 && world.machine.room() > 0; next++) world.offer(event(next))
      return end
    }
    for (; world.machine.room() > 0; next++) world.offer(event(next))
    const accepted = run(world, feed, 120_000)
    expect([accepted.size, refused <= 300]).toEqual([300, true])
    expect(Math.max(...accepted.values())).toBeLessThanOrEqual(31_000)
  })
})

describe('failures of some events', () => {
  test('slow down nothing: with 45 % that fail twice, each is delivered by its own schedule', () => {
    const world = machineOf({ maxConcurrency: 8 })
    const tries = new Map<number, number>()
    let next = 1
    const receive = (sequence: number): AttemptEnd => {
      const count = (tries.get(sequence) ?? 0) + 1
      tries.set(sequence, count)
      for (; next <= 300 && world.machine.room() > 0; next++) world.offer(event(next))
      return (sequence * 7919) % 100 < 45 && count <= 2 ? BROKEN : OK
    }
    for (; world.machine.room() > 0; next++) world.offer(event(next))
    const accepted = run(world, receive, 300_000)
    expect(accepted.size).toBe(300)
    expect(Math.max(...accepted.values())).toBeLessThanOrEqual(35_000)
  })

  test.each([404, 429, 301])('with %i leave the breaker closed: somebody is there', (status) => {
    const { machine, offer, write } = machineOf({ maxConcurrency: 8 })
    for (let round = 0; round < 5; round++) {
      offer(...events(8, 1 + 8 * round))
      expect(sent(machine, 1)).toHaveLength(8)
      for (let index = 1; index <= 8; index++) machine.ended(8 * round + index, answered(status), at(1))
      write()
    }
  })

  test('of every event, or of five connections, open it', () => {
    const failing = (end: AttemptEnd, isSent: boolean) => {
      const { machine, offer, write } = machineOf({ maxConcurrency: 64 })
      let count = 0
      for (let round = 0; round < 30; round++) {
        offer(event(round + 1))
        for (const sequence of sent(machine, 1)) {
          count += 1
          machine.ended(sequence, end, at(1, isSent))
        }
        write()
      }
      return count
    }
    expect([failing(BROKEN, true), failing(UNCONNECTED, false)]).toEqual([20, 5])
  })
})

describe('an endpoint that only fails', () => {
  /** Has one try fail at each of these times; gives the number of the one that disables the endpoint, null where none does. */
  const failing = (machine: ReturnType<typeof machineOf>, times: readonly number[]) => {
    for (const [index, nowMs] of times.entries()) {
      machine.offer(event(index + 1))
      const start = machine.machine.next(nowMs)
      machine.machine.ended(start?.delivery.sequence ?? 0, UNCONNECTED, at(nowMs, false))
      machine.write()
      if (machine.machine.disableReason !== null) return index + 1
    }
    return null
  }
  const every = (gapMs: number, count: number) => Array.from({ length: count }, (_, index) => gapMs * index)

  test('is disabled after five days and ten tries, not earlier', () => {
    expect(failing(machineOf({ maxConcurrency: 64 }), every(HOUR_MS, 200))).toBe(121)
    expect(failing(machineOf({ maxConcurrency: 64 }), every(DAY_MS, 20))).toBe(10)
    expect(failing(machineOf({ maxConcurrency: 64 }), every(HOUR_MS, 120))).toBeNull()
  })

  test('is not disabled by days without a try', () => {
    const times = [...every(HOUR_MS, 9), 21 * DAY_MS, 21 * DAY_MS + 5000]
    expect(failing(machineOf({ maxConcurrency: 64 }), times)).toBeNull()
  })

  test('counts on after a restart, and anew after a row of a build that did not count', () => {
    const failed = (more: object) => machineOf({}, { failingSinceMs: 0, ...more })
    const late = [5 * DAY_MS]
    expect(failing(failed({ failing: { tries: 9, lastMs: 5 * DAY_MS - HOUR_MS } }), late)).toBe(1)
    expect(failing(failed({ failing: { tries: 8, lastMs: 5 * DAY_MS - HOUR_MS } }), late)).toBeNull()
    expect(failing(failed({}), late)).toBeNull()
  })

  test('stores the first failure, then each hour, and a success', () => {
    const { machine, offer, write } = machineOf({ maxConcurrency: 64 })
    offer(...events(8))
    const stored = [0, 5000, HOUR_MS].map((nowMs) => {
      const start = machine.next(nowMs)
      machine.ended(start?.delivery.sequence ?? 0, BROKEN, at(nowMs))
      return write().get('ep_1/position') ?? null
    })
    expect(stored).toEqual([
      expect.objectContaining({ failingSinceMs: 0, failing: { tries: 1, lastMs: 0 } }),
      null,
      expect.objectContaining({ failingSinceMs: 0, failing: { tries: 3, lastMs: HOUR_MS } }),
    ])
    const start = machine.next(HOUR_MS)
    machine.ended(start?.delivery.sequence ?? 0, OK, at(HOUR_MS))
    expect(write().get('ep_1/position')).toMatchObject({ failingSinceMs: null })
  })
})

describe('hastening', () => {
  /** A machine whose first four deliveries wait for a retry, at 5000. */
  const waiting = () => {
    const world = machineOf({ maxConcurrency: 8 })
    world.offer(...events(4))
    for (const sequence of sent(world.machine)) world.machine.ended(sequence, BROKEN, at(0))
    world.write()
    return world
  }

  test('makes what waits due at once, with its tries, when that is durable', () => {
    const { machine, write } = waiting()
    expect(sent(machine, 100)).toEqual([])
    expect(machine.hasten(null, 100)).toHaveLength(4)
    expect(sent(machine, 100)).toEqual([])
    expect(write().get('ep_1/retry/3')).toMatchObject({ tries: 1, dueMs: 100, lastStatus: 500 })
    expect([machine.next(100), machine.hasten(null, 100)]).toMatchObject([{ attempt: 2 }, []])
    expect(sent(machine, 100)).toEqual([2, 3, 4])
  })

  test.each([
    [{ base: 1, until: 3, only: null }, [2, 3]],
    [{ base: 0, until: 4, only: [1, 4] }, [1, 4]],
    [{ base: 0, until: 4, only: 'dead' as const }, []],
  ])('for a replay %j concerns its window', (replay, sequences) => {
    const { machine, write } = waiting()
    expect(machine.hasten(replay, 100)).toEqual(sequences.map((sequence) => `ep_1/retry/${sequence}`))
    write()
    expect(sent(machine, 100)).toEqual(sequences)
  })

  test('ends the breaker and the pause that a receiver asked for', () => {
    const held = machineOf({}, { heldUntilMs: 50_000 })
    held.offer(...events(2))
    expect(sent(held.machine, 1)).toEqual([])
    held.machine.hasten(null, 1)
    expect(sent(held.machine, 1)).toEqual([1, 2])
    const probed = machineOf({}, { failingSinceMs: 0 })
    probed.offer(...events(2))
    expect(sent(probed.machine, 1)).toEqual([1])
    probed.machine.hasten(null, 1)
    expect(sent(probed.machine, 1)).toEqual([2])
  })

  test('again and again gives a receiver that asks for pauses a volley in ten seconds, and costs as few tries', () => {
    const { machine, offer, write } = machineOf({ maxConcurrency: 4 })
    offer(...events(4))
    let requests = 0
    const tick = (nowMs: number): void => {
      for (const sequence of sent(machine, nowMs)) {
        requests += 1
        machine.ended(sequence, answered(503, '3600'), at(nowMs))
      }
      write()
    }
    tick(0)
    for (let nowMs = 250; nowMs <= 30_000; nowMs += 250) {
      machine.hasten(null, nowMs)
      write()
      tick(nowMs)
    }
    // At once, and 10 and 20 s later, each in the three slots that retries may use.
    expect(requests).toBe(4 + 3 * 3)
  })

  test('changes nothing of what is in flight', () => {
    const { machine, write } = waiting()
    expect(sent(machine, 5000)).toHaveLength(4)
    expect(machine.hasten(null, 5000)).toEqual([])
    machine.ended(1, OK, at(5001))
    expect(write().get('ep_1/retry/1')).toBeNull()
  })
})

test('a delivery that did not leave because its endpoint was stopped is sent once that is active, as the same try', () => {
  const { machine, offer, write } = machineOf()
  offer(event(1))
  expect(machine.next(0)).toMatchObject({ attempt: 1 })
  machine.configure({ ...PLAIN, isActive: false })
  machine.sentOnly(1, 0, 20)
  write()
  expect(sent(machine, 30)).toEqual([])
  machine.configure(PLAIN)
  expect(machine.next(30)).toMatchObject({ attempt: 1 })
})
