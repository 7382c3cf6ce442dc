import { describe, expect, it } from 'vitest'
import { RecentEvents } from '../../../src/archive/reading/recent-events.ts'
import type { StoredEvent } from '../../../src/archive/store/stored.ts'
import { GAP_FACTS } from '../../../src/core/filter/facts.ts'
import { never } from '../samples.ts'

function event(sequence: number, bytes = 10): StoredEvent {
  const json = Buffer.alloc(bytes)
  const type = 'disclosure.published.v1' as const
  return { sequence, type, timeMs: 0, recordedMs: 0, committedMs: 0, cursor: '', facts: GAP_FACTS, json }
}

function events(first: number, last: number): StoredEvent[] {
  return Array.from({ length: last - first + 1 }, (_, index) => event(first + index))
}

describe('the recent-events buffer', () => {
  it('holds the newest events up to its capacity', () => {
    const recentEvents = new RecentEvents(0, { capacity: 4, maxBytes: 1000 })
    recentEvents.push(events(1, 3))
    expect([recentEvents.first, recentEvents.latest]).toEqual([1, 3])
    recentEvents.push(events(4, 9))
    expect([recentEvents.first, recentEvents.latest]).toEqual([6, 9])
    expect([5, 6, 9, 10].map((sequence) => recentEvents.at(sequence)?.sequence)).toEqual([
      undefined,
      6,
      9,
      undefined,
    ])
  })

  it('holds at most its byte limit, or the newest event alone', () => {
    const recentEvents = new RecentEvents(0, { capacity: 100, maxBytes: 50 })
    recentEvents.push(events(1, 20))
    expect(recentEvents.latest - recentEvents.first + 1).toBe(5)
    recentEvents.push([event(21, 500)])
    recentEvents.push([event(22)])
    expect([recentEvents.first, recentEvents.latest]).toEqual([22, 22])
  })

  it('rejects an event whose sequence does not follow the last one', () => {
    const recentEvents = new RecentEvents(3)
    expect(() => recentEvents.push([event(5)])).toThrow(expect.objectContaining({ code: 'log_damaged' }))
  })

  it('loads older events backwards until it is full, while newer events arrive', () => {
    const recentEvents = new RecentEvents(10, { capacity: 6, maxBytes: 1000 })
    expect(recentEvents.first).toBe(11)
    expect(recentEvents.prepend(events(9, 10))).toBe(true)
    recentEvents.push([event(11)])
    expect(recentEvents.prepend(events(5, 8))).toBe(false)
    expect([recentEvents.first, recentEvents.latest]).toEqual([6, 11])
    recentEvents.push([event(12)])
    expect([recentEvents.first, recentEvents.latest]).toEqual([7, 12])
    expect(recentEvents.at(7)?.sequence).toBe(7)
  })

  it('wakes readers that wait for a sequence, but not those that wait for a later one', async () => {
    const recentEvents = new RecentEvents(0)
    const woken: number[] = []
    const waits = [0, 1, 2].map((after) =>
      recentEvents.waitBeyond(after, never).then(() => woken.push(after)),
    )
    recentEvents.push(events(1, 2))
    await Promise.all(waits.slice(0, 2))
    expect(woken).toEqual([0, 1])
    recentEvents.push([event(3)])
    await waits[2]
    await recentEvents.waitBeyond(1, never)
  })

  it('releases a waiting reader when its signal aborts', async () => {
    const recentEvents = new RecentEvents(0)
    const stop = new AbortController()
    const waiting = recentEvents.waitBeyond(5, stop.signal)
    stop.abort()
    await waiting
    await recentEvents.waitBeyond(5, stop.signal)
  })

  it('continues after the given sequence when it was reset', () => {
    const recentEvents = new RecentEvents(0, { capacity: 4, maxBytes: 100 })
    recentEvents.push(events(1, 3))
    recentEvents.reset(7)
    expect([recentEvents.first, recentEvents.latest, recentEvents.at(3)]).toEqual([8, 7, undefined])
    recentEvents.push([event(8)])
    expect(recentEvents.at(8)?.sequence).toBe(8)
  })
})
