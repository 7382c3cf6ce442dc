import { describe, expect, test } from 'vitest'
import type { AttemptEnd } from '../../../src/core/attempt-end.ts'
import { HOUR_MS } from '../../../src/core/durations.ts'
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
  rowOf,
  UNCONNECTED,
} from '../../support/webhooks/endpoint-machines.ts'

/** The sequences of each request that may be sent now. */
function sentTogether(machine: EndpointMachine, nowMs = 0): number[][] {
  const requests: number[][] = []
  for (let start = machine.next(nowMs); start !== null; start = machine.next(nowMs)) {
    requests.push([start.delivery, ...(start.others ?? [])].map(({ sequence }) => sequence))
  }
  return requests
}

function rowsOf(written: ReadonlyMap<string, DeliveryRow | null>, kind: DeliveryRow['kind']): string[] {
  return [...written].filter(([, row]) => row?.kind === kind).map(([key]) => key)
}

/** A machine whose first batch, of events 1 to 3, fails with that end until the given number of tries. */
function failing(tries: number, end: AttemptEnd = BROKEN) {
  const made = machineOf({ maxBatch: 3, maxConcurrency: 1 })
  made.offer(event(1), event(2), event(3))
  let nowMs = 0
  for (let count = 0; count < tries; count++) {
    expect(sentTogether(made.machine, nowMs)).toEqual([[1, 2, 3]])
    made.machine.ended(1, end, at(nowMs))
    made.write()
    nowMs += 2 * HOUR_MS
  }
  return { ...made, nowMs }
}

describe('an endpoint with maxBatch', () => {
  test('gets queued events together, in order; a batch takes one slot until all its outcomes are durable', () => {
    const { machine, offer, write } = machineOf({ maxBatch: 3, maxConcurrency: 2 })
    offer(...[1, 2, 3, 4, 5, 6, 7].map((sequence) => event(sequence)))
    expect(sentTogether(machine)).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ])
    machine.ended(1, OK, at(5))
    expect(sentTogether(machine)).toEqual([])
    expect(write().get('ep_1/position')).toMatchObject({ ahead: [] })
    expect(machine.cursors.live.progress.base).toBe(3)
    expect(sentTogether(machine)).toEqual([[7]])
  })

  test('gets a failed batch again with the same events, never with others', () => {
    const { machine, offer, write, nowMs } = failing(2)
    offer(event(4), event(5))
    expect(sentTogether(machine, nowMs)).toEqual([[4, 5]])
    machine.ended(4, OK, at(nowMs))
    write()
    expect(sentTogether(machine, nowMs)).toEqual([[1, 2, 3]])
    machine.ended(1, OK, at(nowMs))
    expect([...write().values()].filter((row) => row !== null && row.kind !== 'position')).toEqual([])
    expect(machine.figures().pending).toBe(0)
  })

  test('gets the events one by one from the fifth try on, so that one that is refused holds up no others', () => {
    const { machine, write, nowMs } = failing(4)
    for (const [sequence, end] of [
      [1, OK],
      [2, BROKEN],
      [3, OK],
    ] as const) {
      expect(sentTogether(machine, nowMs)).toEqual([[sequence]])
      machine.ended(sequence, end, at(nowMs))
      write()
    }
    expect(machine.figures().pending).toBe(1)
  })

  test('gets the events of a batch that is too large for it (413) one by one at the next try', () => {
    const { machine, nowMs } = failing(1, { kind: 'answered', status: 413, retryAfter: null })
    expect(sentTogether(machine, nowMs)).toEqual([[1]])
  })

  test('gets the same batch again after a restart, and single events once maxBatch is null', () => {
    const retries = new Map([1, 2, 5].map((sequence) => rowOf(event(sequence))))
    for (const sequence of [1, 5]) Object.assign(retries.get(sequence) ?? {}, { batch: 1 })
    const loaded = { base: 9, retries }
    expect(sentTogether(machineOf({ maxBatch: 3 }, loaded).machine)).toEqual([[1, 5], [2]])
    expect(sentTogether(machineOf({}, loaded).machine)).toEqual([[1], [2], [5]])
    expect(sentTogether(machineOf({ maxBatch: 2, maxConcurrency: 1 }, loaded).machine)).toEqual([[1, 5]])
  })

  test('gets no part of a failed batch again before its time, after maxBatch was lowered', () => {
    const { machine, write, nowMs } = failing(1)
    machine.configure({ ...PLAIN, maxBatch: 2, maxConcurrency: 1 })
    expect(sentTogether(machine, nowMs)).toEqual([[1, 2]])
    machine.ended(1, BROKEN, at(nowMs))
    write()
    expect(sentTogether(machine, nowMs)).toEqual([[3]])
    machine.ended(3, BROKEN, at(nowMs))
    expect(write().get('ep_1/retry/3')).toMatchObject({ tries: 2 })
    expect(sentTogether(machine, nowMs)).toEqual([])
    expect(sentTogether(machine, nowMs + HOUR_MS)).toEqual([[1, 2]])
    machine.ended(1, BROKEN, at(nowMs + HOUR_MS))
    expect(write().get('ep_1/retry/1')).toMatchObject({ tries: 3 })
  })

  test('gets the next event of an issuer although a batch with it was given back, and then failed event by event', () => {
    const { machine, offer, write } = machineOf({ maxBatch: 3, maxConcurrency: 1, order: 'issuer' })
    offer(event(1), event(2), event(3))
    for (const nowMs of [0, HOUR_MS]) {
      expect(sentTogether(machine, nowMs)).toEqual([[1, 2, 3]])
      if (nowMs === 0) machine.ended(1, BROKEN, at(nowMs))
      else machine.sentOnly(1, 0, nowMs)
      write()
    }
    machine.configure({ ...PLAIN, maxConcurrency: 1, order: 'issuer' })
    for (const end of [BROKEN, OK]) {
      expect(sentTogether(machine, 2 * HOUR_MS)).toEqual([[1]])
      machine.ended(1, end, at(HOUR_MS))
      write()
    }
    expect(sentTogether(machine, 2 * HOUR_MS)).toEqual([[2]])
  })

  test('gets all events of a batch again once it is active after a 410', () => {
    const { machine, offer, write } = machineOf({ maxBatch: 2 })
    offer(event(1), event(2))
    expect(sentTogether(machine)).toEqual([[1, 2]])
    machine.ended(1, GONE, at(0))
    expect(rowsOf(write(), 'retry')).toEqual(['ep_1/retry/1', 'ep_1/retry/2'])
    expect(machine.disableReason).toBe('gone')
  })

  test('gets several events of an issuer in one batch, and the next only when that is decided', () => {
    const { machine, offer, write } = machineOf({ maxBatch: 3, order: 'issuer' })
    offer(event(1, 'a'), event(2, 'b'), event(3, 'a'), event(4, 'a'), event(5, 'c'))
    expect(sentTogether(machine)).toEqual([[1, 2, 3], [5]])
    machine.ended(1, BROKEN, at(0))
    write()
    expect(sentTogether(machine)).toEqual([])
    expect(sentTogether(machine, HOUR_MS)).toEqual([[1, 2, 3]])
    machine.ended(1, OK, at(HOUR_MS))
    write()
    expect(sentTogether(machine, HOUR_MS)).toEqual([[4]])
  })

  test('gets events that did not fit, and those of which the log keeps no body, apart', () => {
    const { machine, offer, write } = machineOf({ maxBatch: 4, maxConcurrency: 1 })
    offer(...[1, 2, 3, 4].map((sequence) => event(sequence)))
    expect(sentTogether(machine)).toEqual([[1, 2, 3, 4]])
    machine.sentOnly(1, 2, 0)
    machine.ended(1, OK, at(0))
    write()
    expect(sentTogether(machine)).toEqual([[3, 4]])
    machine.dropped(3, [3], 0)
    expect(rowsOf(write(), 'dead')).toEqual(['ep_1/dead/3'])
    expect(sentTogether(machine)).toEqual([[4]])
    machine.sentOnly(4, 0, 1000)
    expect([machine.wakeAtMs(), sentTogether(machine, 999), sentTogether(machine, 1000)]).toEqual([
      1000,
      [],
      [[4]],
    ])
  })

  test('has room for as many events as its slots can take, within the bound of the position row', () => {
    expect(machineOf({ maxBatch: 10, maxConcurrency: 2 }).machine.room()).toBe(40)
    expect(machineOf({ maxBatch: 100, maxConcurrency: 64 }).machine.room()).toBe(256)
  })

  test('counts a batch as one delivery in its rate limit', () => {
    const { machine, offer } = machineOf({ maxBatch: 2, rateLimit: 1, maxConcurrency: 8 })
    offer(...[1, 2, 3, 4].map((sequence) => event(sequence)))
    expect(sentTogether(machine)).toEqual([[1, 2]])
    expect(sentTogether(machine, 1000)).toEqual([[3, 4]])
  })
})

describe('the rules of an endpoint hold for its batches:', () => {
  const THROTTLED: AttemptEnd = { kind: 'answered', status: 429, retryAfter: '60' }
  const events = (count: number, from = 1) => Array.from({ length: count }, (_, at) => event(from + at))

  test('one that failed at the former address is due at once, whole, as the same try', () => {
    const { machine, offer, write } = machineOf({ maxBatch: 3 })
    offer(...events(3))
    expect(sentTogether(machine)).toEqual([[1, 2, 3]])
    machine.configure({ ...PLAIN, maxBatch: 3, target: 'b' })
    expect(machine.ended(1, GONE, at(50))).toMatchObject({ next: 'retry', delayMs: 0 })
    write()
    expect([machine.disableReason, machine.failingSinceMs]).toEqual([null, null])
    expect(machine.next(50)).toMatchObject({ attempt: 1, others: [{ sequence: 2 }, { sequence: 3 }] })
  })

  test('a Retry-After holds all of them, and the same one comes again, as often as it is asked for', () => {
    const { machine, offer, write } = machineOf({ maxBatch: 2, maxConcurrency: 2 })
    offer(...events(6))
    expect(sentTogether(machine)).toEqual([
      [1, 2],
      [3, 4],
    ])
    machine.ended(3, OK, at(0))
    for (let nowMs = 0; nowMs < 10 * 60_000; nowMs += 60_000) {
      machine.ended(1, THROTTLED, at(nowMs))
      write()
      expect([machine.wakeAtMs(), sentTogether(machine, nowMs + 59_999)]).toEqual([nowMs + 60_000, []])
      if (nowMs === 0) {
        expect(sentTogether(machine, 60_000)).toEqual([
          [1, 2],
          [5, 6],
        ])
        machine.ended(5, OK, at(60_000))
        write()
      } else expect(sentTogether(machine, nowMs + 60_000)).toEqual([[1, 2]])
    }
  })

  test('while nobody answers a probe has one event; the first answer lets batches go again', () => {
    const { machine, offer, write } = machineOf({ maxBatch: 4, maxConcurrency: 5 })
    offer(...events(20))
    const first = sentTogether(machine)
    expect(first.map(({ length }) => length)).toEqual([4, 4, 4, 4, 4])
    for (const [lead = 0] of first) machine.ended(lead, UNCONNECTED, at(0, false))
    write()
    offer(...events(8, 21))
    expect(sentTogether(machine, 10_000)).toEqual([[1]])
    machine.ended(1, OK, at(10_000))
    write()
    const rest = sentTogether(machine, 10_000)
    expect(rest).toContainEqual([21, 22, 23, 24])
    expect(rest).toContainEqual([2, 3, 4])
  })

  test('of a receiver that refuses every fifth event all others arrive, late by the tries of whole batches alone', () => {
    const { machine, offer, write } = machineOf({ maxBatch: 20, maxConcurrency: 8 })
    const accepted = new Map<number, number>()
    let read = 0
    for (let nowMs = 0; nowMs < HOUR_MS; ) {
      for (; read < 500 && machine.room() > 0; read++) offer(event(read + 1))
      const requests = sentTogether(machine, nowMs)
      for (const request of requests) {
        const isRefused = request.some((sequence) => sequence % 5 === 0)
        machine.ended(request[0] ?? 0, isRefused ? BROKEN : OK, at(nowMs))
        if (!isRefused) for (const sequence of request) accepted.set(sequence, nowMs)
      }
      write()
      if (requests.length === 0) nowMs = Math.max(nowMs + 1, machine.wakeAtMs() ?? HOUR_MS)
    }
    expect(accepted.size).toBe(400)
    expect(Math.max(...accepted.values())).toBeLessThan(14 * 60_000)
  })

  test('what did not leave because the endpoint was stopped is sent once that is active, as the same try', () => {
    const { machine, offer, write } = machineOf({ maxBatch: 3 })
    offer(...events(3))
    expect(sentTogether(machine)).toEqual([[1, 2, 3]])
    machine.configure({ ...PLAIN, maxBatch: 3, isActive: false })
    machine.sentOnly(1, 0, 20)
    write()
    expect(sentTogether(machine, 30)).toEqual([])
    machine.configure({ ...PLAIN, maxBatch: 3 })
    expect(machine.next(30)).toMatchObject({ attempt: 1, others: [{ sequence: 2 }, { sequence: 3 }] })
  })

  test('a replay of one event, or a repair, makes the whole batch that waits for a retry due at once', () => {
    for (const among of [null, { base: 1, until: 2, only: null }]) {
      const { machine, offer, write } = machineOf({ maxBatch: 3 })
      offer(...events(3))
      sentTogether(machine)
      machine.ended(1, BROKEN, at(0))
      write()
      expect(sentTogether(machine, 1000)).toEqual([])
      machine.hasten(among, 1000)
      write()
      expect(sentTogether(machine, 1000)).toEqual([[1, 2, 3]])
    }
  })

  test('a request that was given back in part leaves its slot to nobody before the rest is durable', () => {
    const retries = new Map([1, 2].map((sequence) => rowOf(event(sequence))))
    for (const row of retries.values()) Object.assign(row, { batch: 1 })
    const { machine, write } = machineOf({ maxBatch: 2 }, { base: 9, retries })
    expect(sentTogether(machine)).toEqual([[1, 2]])
    machine.dropped(1, [2], 0)
    expect(sentTogether(machine)).toEqual([[1]])
    expect(rowsOf(write(), 'dead')).toEqual(['ep_1/dead/2'])
    machine.ended(1, OK, at(0))
    expect([write().get('ep_1/retry/1'), machine.figures().pending]).toEqual([null, 0])
  })
})
