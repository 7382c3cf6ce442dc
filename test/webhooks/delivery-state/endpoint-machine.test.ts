import { describe, expect, test } from 'vitest'
import type { RetryRow } from '../../../src/webhooks/delivery-state/delivery-rows.ts'
import { MOST_WAITING } from '../../../src/webhooks/delivery-state/endpoint-backlog.ts'
import { LONGEST_PROBE_GAP_MS } from '../../../src/webhooks/delivery-state/endpoint-breaker.ts'
import { FAILING_LIMIT_MS } from '../../../src/webhooks/delivery-state/endpoint-failing.ts'
import {
  at,
  BROKEN,
  cursorAt,
  event,
  GONE,
  machineOf,
  OK,
  PLAIN,
  sent,
  UNCONNECTED,
} from '../../support/webhooks/endpoint-machines.ts'

/** A machine whose first eight deliveries have all failed at 0. */
function stoppedAnswering() {
  const { machine, offer, write } = machineOf()
  offer(...Array.from({ length: 8 }, (_, index) => event(index + 1)))
  for (let round = 0; round < 2; round++) {
    for (const sequence of sent(machine)) machine.ended(sequence, UNCONNECTED, at(0, false))
    write()
  }
  return { machine, write }
}

describe('an endpoint', () => {
  test('has no more deliveries in flight than slots, and frees a slot only when the outcome is durable', () => {
    const { machine, offer } = machineOf({ maxConcurrency: 2 })
    offer(event(1), event(2), event(3))
    expect(sent(machine)).toEqual([1, 2])
    machine.ended(1, OK, at(0))
    expect(sent(machine)).toEqual([])
    const batch = machine.take(cursorAt, false)
    expect(sent(machine)).toEqual([])
    batch?.settled()
    expect(sent(machine)).toEqual([3])
  })

  test('stores deliveries completed out of order beside its position, which stays before the oldest open one', () => {
    const { machine, offer, write } = machineOf()
    offer(event(1), event(2), event(3))
    sent(machine)
    machine.ended(2, OK, at(0))
    machine.ended(3, OK, at(0))
    expect(write().get('ep_1/position')).toMatchObject({ cursor: cursorAt(0), ahead: [2, 3] })
    machine.ended(1, OK, at(0))
    expect(write().get('ep_1/position')).toMatchObject({ cursor: cursorAt(3), ahead: [] })
  })

  test('retries a failed delivery exactly when it is due, and writes one row per attempt', () => {
    const { machine, offer, write } = machineOf()
    offer(event(1))
    sent(machine)
    machine.ended(1, BROKEN, at(100))
    const rows = write()
    expect(rows.get('ep_1/retry/1')).toMatchObject({ tries: 1, dueMs: 5100, lastStatus: 500 })
    expect(machine.wakeAtMs()).toBe(5100)
    expect(sent(machine, 5099)).toEqual([])
    expect(sent(machine, 5100)).toEqual([1])
    machine.ended(1, BROKEN, at(5100))
    expect([...write().keys()]).toEqual(['ep_1/retry/1'])
  })

  test('writes its position before it removes a row that the durable position has not passed', () => {
    const { machine, offer, write } = machineOf()
    offer(event(1))
    sent(machine)
    machine.ended(1, BROKEN, at(0))
    write()
    sent(machine, 5000)
    machine.ended(1, OK, at(5000))
    expect([...write()]).toEqual([
      ['ep_1/position', expect.objectContaining({ cursor: cursorAt(1), ahead: [], failingSinceMs: null })],
      ['ep_1/retry/1', null],
    ])
  })

  test('gives up a delivery after the ninth attempt, with a dead-delivery record', () => {
    const { machine, offer, write } = machineOf()
    offer(event(1))
    let nowMs = 0
    for (let attempt = 1; attempt <= 9; attempt++) {
      nowMs = machine.wakeAtMs() ?? nowMs
      expect(machine.next(nowMs)).toMatchObject({ attempt })
      machine.ended(1, BROKEN, at(nowMs))
      const rows = write()
      if (attempt < 9) continue
      expect(rows.get('ep_1/dead/1')).toMatchObject({
        eventId: 'e1',
        tries: 9,
        lastStatus: 500,
        cause: 'tries',
      })
      expect(rows.get('ep_1/retry/1')).toBeNull()
    }
    expect(machine.wakeAtMs()).toBeNull()
  })

  test('reads no more events while a thousand are pending or could become pending', () => {
    const rows = new Map(
      Array.from({ length: MOST_WAITING - 1 }, (_, index) => {
        const { sequence, ...rest } = event(index + 1)
        return [sequence, { kind: 'retry', ...rest, tries: 1, dueMs: 9e12, lastStatus: null }] as const
      }),
    )
    const { machine, offer, write } = machineOf({}, { base: MOST_WAITING, retries: rows })
    expect(machine.room()).toBe(1)
    offer(event(2000))
    expect(machine.room()).toBe(0)
    sent(machine)
    expect(machine.room()).toBe(0)
    machine.ended(2000, BROKEN, at(0))
    write()
    expect(machine.room()).toBe(0)
  })

  test('that stops responding gets one probe at a time, and every due delivery when it responds again', () => {
    const { machine, write } = stoppedAnswering()
    expect(sent(machine, 4999)).toEqual([])
    expect(sent(machine, 5000)).toHaveLength(1)
    machine.ended(1, BROKEN, at(5000))
    write()
    expect(sent(machine, 34_999)).toEqual([])
    const [probe] = sent(machine, 35_000)
    machine.ended(probe ?? 0, OK, at(35_000))
    write()
    expect(sent(machine, 35_000)).toHaveLength(3)
  })

  test('that stopped responding gets every due delivery at once when its owner re-enables it', () => {
    const { machine, write } = stoppedAnswering()
    expect(sent(machine, 5000)).toHaveLength(1)
    machine.ended(1, BROKEN, at(5000))
    write()
    machine.configure({ ...PLAIN, isActive: false })
    machine.configure(PLAIN)
    expect(sent(machine, 6000)).toEqual([2, 3, 4])
  })

  test('that answers 410 is sent nothing more, and keeps its pending deliveries', () => {
    const { machine, offer, write } = machineOf()
    offer(event(1), event(2))
    machine.next(0)
    machine.ended(1, GONE, at(0))
    expect(machine.disableReason).toBe('gone')
    expect(write().get('ep_1/retry/1')).toMatchObject({ tries: 1, dueMs: 0, lastStatus: 410 })
    expect(sent(machine, 1e9)).toEqual([])
    machine.configure({ ...PLAIN, isActive: false })
    machine.configure(PLAIN)
    expect(sent(machine, 1e9)).toEqual([1, 2])
  })

  test('keeps what a 410 ends as refused, also where it ends after the endpoint was disabled', () => {
    const { machine, offer, write } = machineOf({ maxConcurrency: 8 })
    offer(event(1), event(2))
    expect(sent(machine)).toHaveLength(2)
    machine.ended(1, GONE, at(5))
    write()
    machine.configure({ ...PLAIN, isActive: false })
    expect(machine.ended(2, GONE, at(6))).toEqual({ next: 'disable' })
    expect([machine.disableReason, machine.failingSinceMs]).toEqual([null, null])
    expect(write().get('ep_1/retry/2')).toMatchObject({ tries: 1, lastStatus: 410 })
  })

  test('starts with a clean record when re-enabled: outcomes of earlier attempts do not count', () => {
    const { machine, offer, write } = machineOf({ maxConcurrency: 8 })
    offer(...Array.from({ length: 9 }, (_, index) => event(index + 1)))
    expect(sent(machine)).toHaveLength(8)
    machine.ended(1, GONE, at(0))
    write()
    machine.configure({ ...PLAIN, isActive: false })
    machine.ended(2, GONE, at(1))
    for (let sequence = 3; sequence <= 8; sequence++) machine.ended(sequence, BROKEN, at(1))
    write()
    machine.configure({ ...PLAIN, isActive: true })
    expect([machine.disableReason, machine.failingSinceMs]).toEqual([null, null])
    const laterMs = 2 * FAILING_LIMIT_MS
    expect(sent(machine, laterMs)).toHaveLength(4)
    machine.ended(9, BROKEN, at(laterMs))
    expect(machine.disableReason).toBeNull()
  })

  test('with a rate limit gets at most that many attempts a second', () => {
    const { machine, offer, write } = machineOf({ maxConcurrency: 64, rateLimit: 10 })
    offer(...Array.from({ length: 64 }, (_, index) => event(index + 1)))
    let count = 0
    for (let nowMs = 0; nowMs <= 2000; nowMs = Math.max(nowMs + 1, machine.wakeAtMs() ?? 0)) {
      for (const sequence of sent(machine, nowMs)) {
        count += 1
        machine.ended(sequence, OK, at(nowMs))
      }
      write()
    }
    expect(count).toBe(21)
  })

  test('whose clock is set back gets its next attempt no later than its rate limit allows', () => {
    const setBackMs = 2 * 3_600_000
    const { machine, offer } = machineOf({ rateLimit: 1 })
    offer(event(1), event(2))
    expect(sent(machine, setBackMs)).toEqual([1])
    expect(machine.wakeAtMs()).toBe(setBackMs + 1000)
    expect(sent(machine, 0)).toEqual([])
    expect(machine.wakeAtMs()).toBeLessThanOrEqual(1000)
    expect(sent(machine, 1000)).toEqual([2])
  })

  test('whose clock is set back waits for a retry no longer than before, over a restart too', () => {
    const setBackMs = 2 * 3_600_000
    const { machine, offer, write } = machineOf()
    offer(event(1))
    sent(machine, setBackMs)
    machine.ended(1, { kind: 'answered', status: 404, retryAfter: null }, at(setBackMs))
    const row = write().get('ep_1/retry/1') as RetryRow
    const delayMs = row.dueMs - setBackMs
    expect(delayMs).toBeLessThan(6_000)
    const next = machineOf({}, { retries: new Map([[1, row]]) })
    for (const one of [machine, next.machine]) {
      expect([sent(one, 0), one.wakeAtMs()]).toEqual([[], delayMs])
      expect(sent(one, delayMs)).toEqual([1])
    }
  })

  test('whose clock is set back is probed no later than after the longest probe interval', () => {
    const { machine, offer, write } = machineOf({}, { failingSinceMs: 0 })
    const setBackMs = 2 * 3_600_000
    offer(event(1), event(2))
    expect(sent(machine, setBackMs)).toHaveLength(1)
    machine.ended(1, BROKEN, at(setBackMs))
    write()
    expect(sent(machine, 0)).toEqual([])
    expect(machine.wakeAtMs()).toBe(LONGEST_PROBE_GAP_MS)
    expect(sent(machine, LONGEST_PROBE_GAP_MS)).toHaveLength(1)
  })
})

describe('an endpoint with issuer order', () => {
  test('holds later events of an issuer until the earlier one is durable, and sends those of other issuers', () => {
    const { machine, offer, write } = machineOf({ order: 'issuer' })
    offer(event(1, 'a'), event(2, 'a'), event(3, 'b'), event(4, 'a'))
    expect(sent(machine)).toEqual([1, 3])
    expect(write().get('ep_1/retry/2')).toMatchObject({ tries: 0 })
    machine.ended(1, BROKEN, at(0))
    machine.ended(3, OK, at(0))
    write()
    expect(sent(machine, 4999)).toEqual([])
    expect(sent(machine, 5000)).toEqual([1])
    machine.ended(1, OK, at(5000))
    expect(sent(machine, 5000)).toEqual([])
    write()
    expect(sent(machine, 5000)).toEqual([2])
  })

  test('sends an event that had to wait only when its own row is durable, even if the earlier event has ended', () => {
    const { machine, offer, write } = machineOf({ order: 'issuer' })
    offer(event(1, 'a'))
    expect(sent(machine)).toEqual([1])
    machine.ended(1, OK, at(0))
    const batch = machine.take(cursorAt, false)
    offer(event(2, 'a'))
    batch?.settled()
    expect(sent(machine)).toEqual([])
    write()
    expect(sent(machine)).toEqual([2])
  })

  test('after a takeover sends pending events only once earlier events were read again', () => {
    const { sequence, ...rest } = event(2, 'a')
    const row = { kind: 'retry', ...rest, tries: 0, dueMs: 0, lastStatus: null } as const
    const { machine, offer, write } = machineOf(
      { order: 'issuer' },
      { base: 0, retries: new Map([[2, row]]) },
    )
    expect(sent(machine)).toEqual([])
    offer(event(1, 'a'), event(2, 'a'))
    expect(sent(machine)).toEqual([1])
    machine.ended(1, OK, at(0))
    write()
    expect(sent(machine)).toEqual([2])
  })

  test('enabled later holds pending events, and sends the first of each issuer', () => {
    const { machine, offer, write } = machineOf({ maxConcurrency: 2 })
    offer(event(1, 'a'), event(2, 'b'), event(3, 'a'), event(4, 'c'))
    sent(machine)
    machine.configure({ ...PLAIN, order: 'issuer' })
    machine.ended(2, OK, at(0))
    write()
    expect(sent(machine)).toEqual([4])
    expect(write().get('ep_1/retry/3')).toMatchObject({ tries: 0 })
    machine.ended(1, OK, at(0))
    write()
    expect(sent(machine)).toEqual([3])
  })
})

describe('a replay', () => {
  const start = { id: 'rp_1', base: 0, ahead: [], until: 3, only: null, createdAtMs: 0, isWritten: false }

  test('sends after new events, has a row until it ends, and leaves failures to the retries', () => {
    const { machine, offer, write } = machineOf({}, { base: 5 })
    machine.cursors.addReplay(start)
    expect(write().get('ep_1/replay/rp_1')).toMatchObject({ until: 3, cursor: cursorAt(0) })
    for (const sequence of [1, 3]) machine.offerReplayed(event(sequence))
    machine.cursors.replay?.progress.passedTo(3)
    offer(event(6))
    expect(sent(machine)).toEqual([6, 1, 3])
    machine.ended(3, OK, at(0))
    expect(write().get('ep_1/replay/rp_1')).toMatchObject({ cursor: cursorAt(0), ahead: [3] })
    machine.ended(1, BROKEN, at(0))
    expect([...write().keys()]).toEqual(['ep_1/retry/1', 'ep_1/position'])
    expect(machine.hasPendingRows()).toBe(true)
    expect([...write()]).toEqual([['ep_1/replay/rp_1', null]])
    expect(sent(machine, 5000)).toEqual([1])
  })

  test('that waits for a retry of its issuer does not delay that retry', () => {
    const { machine, offer, write } = machineOf({ order: 'issuer' }, { base: 5 })
    offer(event(6))
    expect(sent(machine)).toEqual([6])
    machine.ended(6, BROKEN, at(0))
    write()
    machine.cursors.addReplay({ ...start, until: 1 })
    machine.offerReplayed(event(1))
    write()
    expect(sent(machine, 1)).toEqual([])
    expect(machine.wakeAtMs()).toBe(5000)
    expect(sent(machine, 5000)).toEqual([6])
    machine.ended(6, OK, at(5000))
    write()
    expect(machine.wakeAtMs()).toBe(0)
    expect(sent(machine, 5000)).toEqual([1])
  })

  test('frees its slot also if the outcome changes no row', () => {
    const { machine, offer, write } = machineOf({ maxConcurrency: 1 })
    machine.cursors.addReplay({ ...start, until: 1 })
    machine.offerReplayed(event(1))
    offer(event(1))
    for (const nowMs of [1, 2]) {
      expect(sent(machine, nowMs)).toEqual([1])
      machine.ended(1, OK, at(nowMs))
      write()
    }
    expect([machine.figures().pending, machine.hasPendingRows()]).toEqual([0, false])
  })

  test('skips events that are about to be sent as new', () => {
    const { machine, offer } = machineOf({ maxConcurrency: 1 })
    offer(event(1), event(2))
    machine.cursors.addReplay({ ...start, until: 2 })
    machine.offerReplayed(event(1))
    machine.offerReplayed(event(2))
    expect(machine.figures().pending).toBe(2)
  })

  test('of a dead delivery deletes the dead-delivery record on success', () => {
    const { machine, write } = machineOf({}, { base: 5, dead: [2] })
    machine.cursors.addReplay({ ...start, base: 1, until: 2, only: [2] })
    machine.offerReplayed(event(2))
    machine.next(0)
    machine.ended(2, OK, at(0))
    expect(write().get('ep_1/dead/2')).toBeNull()
  })
})
