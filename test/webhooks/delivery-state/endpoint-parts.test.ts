import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Backlog } from '../../../src/webhooks/delivery-state/endpoint-backlog.ts'
import {
  Breaker,
  FAILED_EVENTS_TO_OPEN,
  LONGEST_PROBE_GAP_MS,
  UNCONNECTED_TO_OPEN,
} from '../../../src/webhooks/delivery-state/endpoint-breaker.ts'
import { Progress } from '../../../src/webhooks/delivery-state/endpoint-progress.ts'
import { IssuerOrder } from '../../../src/webhooks/delivery-state/issuer-order.ts'
import { RateLimit } from '../../../src/webhooks/delivery-state/rate-limit.ts'
import { nextSort, type SlotState } from '../../../src/webhooks/delivery-state/scheduling-policy.ts'

describe('the cursor position', () => {
  const steps = fc.array(
    fc.record({ what: fc.constantFrom('match', 'match', 'skip', 'done', 'kept'), pick: fc.nat() }),
    { maxLength: 60 },
  )

  test('never passes an open delivery, and is never lower than necessary', () => {
    fc.assert(
      fc.property(steps, fc.uniqueArray(fc.integer({ min: 1, max: 20 }), { maxLength: 4 }), (plan, ahead) => {
        const progress = new Progress(0, ahead)
        const open = new Set<number>()
        let read = 0
        for (const { what, pick } of plan) {
          const chosen = [...open][pick % Math.max(1, open.size)]
          if (what === 'match') {
            read += 1
            expect(progress.seen(read)).toBe(!ahead.includes(read))
            if (!ahead.includes(read)) open.add(read)
          } else if (what === 'skip') {
            read += 1
            progress.passedTo(read)
          } else if (chosen !== undefined) {
            progress[what](chosen)
            open.delete(chosen)
          }
          expect(progress.base).toBe(open.size === 0 ? read : Math.min(...open) - 1)
          expect(progress.readTo).toBe(read)
        }
      }),
    )
  })

  test('restored from its position and the outcomes ahead of it repeats exactly the open deliveries', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 40 }), (isDone) => {
        const progress = new Progress(0, [])
        for (const index of isDone.keys()) progress.seen(index + 1)
        for (const [index, done] of isDone.entries()) if (done) progress.done(index + 1)
        const again = new Progress(progress.base, progress.ahead())
        const repeated: number[] = []
        for (let sequence = again.readTo + 1; sequence <= isDone.length; sequence++) {
          if (again.seen(sequence)) repeated.push(sequence)
        }
        expect(repeated).toEqual(isDone.flatMap((done, index) => (done ? [] : [index + 1])))
      }),
    )
  })
})

describe('the pending queue', () => {
  const row = { kind: 'retry', eventId: 'e', subject: 's', cursor: 'c', recordedMs: 0, tries: 1 } as const
  const rowsDueAt = (dueMs: readonly number[]) =>
    new Map(dueMs.map((due, sequence) => [sequence, { ...row, dueMs: due, lastStatus: null }]))

  test('returns the earliest due delivery first, and the lowest sequence among those due together', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9)), (dueMs) => {
        const backlog = new Backlog(rowsDueAt(dueMs), () => false)
        backlog.setOrder('none', 0, [])
        const out: number[][] = []
        for (let due = backlog.first(); due !== null; due = backlog.first()) {
          out.push([due.dueMs, due.sequence])
          backlog.take(due.sequence)
        }
        const entries = dueMs.map((due, sequence): [number, number] => [due, sequence])
        expect(out).toEqual(entries.sort((a, b) => a[0] - b[0] || a[1] - b[1]))
      }),
    )
  })

  test('keeps the due times of deliveries that are taken and put back repeatedly, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { minLength: 1 }), fc.array(fc.nat()), (dueMs, picks) => {
        const backlog = new Backlog(rowsDueAt(dueMs), () => false)
        backlog.setOrder('none', 0, [])
        for (const pick of picks) {
          backlog.take(pick % dueMs.length)
          backlog.retryAt(pick % dueMs.length, 0)
          expect(backlog.first()?.dueMs).toBe(Math.min(...dueMs))
        }
      }),
    )
  })
})

describe('slot scheduling', () => {
  const idle: SlotState = {
    slots: 8,
    behind: 0,
    firstWaits: true,
    retryWaits: true,
    replayWaits: true,
    firstsInRow: 0,
    firstsBeforeRetry: 3,
  }

  test('gives retries up to a quarter of the slots while first attempts wait, then serves first attempts', () => {
    expect([0, 1, 2, 7].map((behind) => nextSort({ ...idle, behind }))).toEqual([
      'retry',
      'retry',
      'first',
      'first',
    ])
  })

  test('gives retries, then replays, up to three quarters of the slots while no first attempt waits', () => {
    const quiet = { ...idle, firstWaits: false }
    expect([0, 5, 6].map((behind) => nextSort({ ...quiet, behind }))).toEqual(['retry', 'retry', null])
    expect(nextSort({ ...quiet, retryWaits: false })).toBe('replay')
    expect(nextSort({ ...quiet, slots: 2, behind: 1 })).toBeNull()
  })

  test('with one slot: serves a retry after three first attempts, and at once if none waits', () => {
    const single = { ...idle, slots: 1 }
    expect([0, 2, 3].map((firstsInRow) => nextSort({ ...single, firstsInRow }))).toEqual([
      'first',
      'first',
      'retry',
    ])
    expect(nextSort({ ...single, firstWaits: false })).toBe('retry')
  })
})

describe('the circuit breaker', () => {
  const unconnected = { sequence: 1, isFirst: false, isSent: false }

  test('opens at the fifth connection in a row that fails, spaces probes by the schedule up to a minute, and closes on an answer', () => {
    const breaker = new Breaker(false)
    for (let failure = 1; failure < UNCONNECTED_TO_OPEN; failure++) breaker.failed(unconnected, 0, 0.5)
    expect(breaker.isOpen).toBe(false)
    const gaps: number[] = []
    for (let nowMs = 0; gaps.length < 4; nowMs = breaker.probeAtMs) {
      breaker.failed(unconnected, nowMs, 0.5)
      gaps.push(breaker.probeAtMs - nowMs)
    }
    expect(gaps).toEqual([5000, 30_000, LONGEST_PROBE_GAP_MS, LONGEST_PROBE_GAP_MS])
    breaker.answered()
    expect([breaker.isOpen, breaker.probeAtMs]).toEqual([false, 0])
  })

  test('opens when every event fails, and not by retries of events that failed while others were answered', () => {
    const breaker = new Breaker(false)
    const fail = (sequence: number, isFirst: boolean) =>
      breaker.failed({ sequence, isFirst, isSent: true }, 0, 0.5)
    for (let sequence = 1; sequence < FAILED_EVENTS_TO_OPEN; sequence++) fail(sequence, true)
    breaker.answered()
    for (let sequence = 1; sequence <= 3 * FAILED_EVENTS_TO_OPEN; sequence++) fail(sequence, false)
    expect(breaker.isOpen).toBe(false)
    for (let event = 1; event < FAILED_EVENTS_TO_OPEN; event++) {
      for (const isFirst of [true, false, false]) fail(1000 + event, isFirst)
    }
    expect(breaker.isOpen).toBe(false)
    fail(2000, true)
    expect(breaker.isOpen).toBe(true)
  })

  test('counts attempts sent together as one failure, and begins with a probe if the endpoint was failing', () => {
    const breaker = new Breaker(true)
    expect([breaker.isOpen, breaker.probeAtMs]).toEqual([true, 0])
    for (let failure = 0; failure < 8; failure++) breaker.failed(unconnected, 1000, 0.5)
    expect(breaker.probeAtMs).toBe(6000)
  })
})

describe('the issuer order', () => {
  test('is the order of arrival; removing the first entry makes the next one first', () => {
    const order = new IssuerOrder()
    for (const sequence of [1, 2, 3]) order.enter('a', sequence)
    order.enter('b', 4)
    expect([order.isFirst('a', 1), order.isFirst('a', 2), order.isFirst('b', 4)]).toEqual([true, false, true])
    expect([order.leave('a', 2), order.leave('a', 1), order.leave('a', 3), order.leave('a', 3)]).toEqual([
      null,
      3,
      null,
      null,
    ])
  })
})

describe('the rate limiter of an endpoint', () => {
  const rate = fc.double({ min: 0.1, max: 200, noNaN: true })

  test('lets no more through in any window than the rate, but for timers that are late', () => {
    fc.assert(
      fc.property(rate, fc.array(fc.nat(3000), { minLength: 1, maxLength: 60 }), (perSecond, gapsMs) => {
        const limit = new RateLimit(perSecond)
        const times: number[] = []
        let nowMs = 0
        for (const gapMs of gapsMs) {
          nowMs = Math.max(nowMs + gapMs, times.at(-1) ?? 0)
          times.push(limit.take(nowMs))
        }
        for (const [first, fromMs] of times.entries()) {
          for (const [last, toMs] of times.entries()) {
            const most = 1 + ((toMs - fromMs + 10) * perSecond) / 1000
            if (last >= first) expect(last - first + 1).toBeLessThanOrEqual(most + 1e-6)
          }
        }
      }),
    )
  })

  test('makes up for timers that are late by some milliseconds, and for nothing else', () => {
    const limit = new RateLimit(500)
    const taken = [0, 5, 5, 5, 6, 100, 100].map((nowMs) => limit.take(nowMs))
    expect(taken).toEqual([0, 5, 5, 6, 8, 100, 102])
  })

  test('makes up for no missed attempts after the clock was set back', () => {
    const limit = new RateLimit(10)
    for (let token = 0; token < 30; token++) limit.take(1e12)
    expect(limit.take(5000)).toBeLessThanOrEqual(5100)
  })
})
