import { describe, expect, it } from 'vitest'
import { createTail } from '../../../src/archive/reading/recent-events.ts'
import type { StoredEvent } from '../../../src/archive/store/stored.ts'
import { GAP_FACTS } from '../../../src/core/filter/facts.ts'
import { never } from '../samples.ts'

function event(sequence: number, bytes = 10): StoredEvent {
  const json = Buffer.alloc(bytes)
  const type = 'disclosure.published.v1' as const
  return { sequence, type, timeMs: 0, recordedMs: 0, cursor: '', facts: GAP_FACTS, json }
}

function events(first: number, last: number): StoredEvent[] {
  return Array.from({ length: last - first + 1 }, (_, index) => event(first + index))
}

describe('the tail', () => {
  it('holds the newest events up to its capacity', () => {
    const tail = createTail(0, { capacity: 4, maxBytes: 1000 })
    tail.push(events(1, 3))
    expect([tail.first, tail.latest]).toEqual([1, 3])
    tail.push(events(4, 9))
    expect([tail.first, tail.latest]).toEqual([6, 9])
    expect([5, 6, 9, 10].map((sequence) => tail.at(sequence)?.sequence)).toEqual([undefined, 6, 9, undefined])
  })

  it('holds no more bytes than it may, give or take the newest event', () => {
    const tail = createTail(0, { capacity: 100, maxBytes: 50 })
    tail.push(events(1, 20))
    expect(tail.latest - tail.first + 1).toBe(5)
    tail.push([event(21, 500)])
    tail.push([event(22)])
    expect([tail.first, tail.latest]).toEqual([22, 22])
  })

  it('refuses an event that does not follow', () => {
    const tail = createTail(3)
    expect(() => tail.push([event(5)])).toThrow(expect.objectContaining({ code: 'log_damaged' }))
  })

  it('is warmed backwards until it is full, while newer events come in', () => {
    const tail = createTail(10, { capacity: 6, maxBytes: 1000 })
    expect(tail.first).toBe(11)
    expect(tail.warm(events(9, 10))).toBe(true)
    tail.push([event(11)])
    expect(tail.warm(events(5, 8))).toBe(false)
    expect([tail.first, tail.latest]).toEqual([6, 11])
    tail.push([event(12)])
    expect([tail.first, tail.latest]).toEqual([7, 12])
    expect(tail.at(7)?.sequence).toBe(7)
  })

  it('wakes who waits for a sequence, and nobody who waits for a later one', async () => {
    const tail = createTail(0)
    const woken: number[] = []
    const waits = [0, 1, 2].map((after) => tail.waitBeyond(after, never).then(() => woken.push(after)))
    tail.push(events(1, 2))
    await Promise.all(waits.slice(0, 2))
    expect(woken).toEqual([0, 1])
    tail.push([event(3)])
    await waits[2]
    await tail.waitBeyond(1, never)
  })

  it('lets a waiter go when its signal aborts', async () => {
    const tail = createTail(0)
    const stop = new AbortController()
    const waiting = tail.waitBeyond(5, stop.signal)
    stop.abort()
    await waiting
    await tail.waitBeyond(5, stop.signal)
  })

  it('stands where it is told to after a reset', () => {
    const tail = createTail(0, { capacity: 4, maxBytes: 100 })
    tail.push(events(1, 3))
    tail.reset(7)
    expect([tail.first, tail.latest, tail.at(3)]).toEqual([8, 7, undefined])
    tail.push([event(8)])
    expect(tail.at(8)?.sequence).toBe(8)
  })
})
