import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DAY_MS } from '../../../src/core/durations.ts'
import { beyondRetentionMs } from '../../../src/ingest/poller/retention-bound.ts'

const NOW = Date.UTC(2026, 5, 1)
const SKEW_MS = 30_000

/** What was published, oldest first: when we recorded it, and its upstream time by a clock a little ahead of ours. */
const published = fc
  .array(
    fc.record({
      agoMs: fc.integer({ min: 0, max: 30 * DAY_MS }),
      oldMs: fc.oneof(fc.constant(-SKEW_MS), fc.integer({ min: 0, max: 3 * DAY_MS })),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((events) =>
    events
      .toSorted((one, other) => other.agoMs - one.agoMs)
      .map(({ agoMs, oldMs }) => ({ recordedMs: NOW - agoMs, timeMs: NOW - agoMs - oldMs })),
  )

const replicaOf = (oldest: number, latest: number, recordedMs: number | null) => ({
  oldest,
  latest,
  oldestRecordedMs: () => recordedMs,
})

describe('the retention bound', () => {
  it('covers everything that was dropped, and nothing younger than the minimum retention', () => {
    fc.assert(
      fc.property(published, fc.nat(), fc.nat(), (events, drop, claim) => {
        const droppable = events.filter(({ recordedMs }) => recordedMs <= NOW - 7 * DAY_MS).length
        const dropped = drop % (droppable + 1)
        const sequence = claim % (events.length + 1)
        const before = events.slice(0, sequence)
        const claimed = { sequence, latestTimeMs: Math.max(0, ...before.map(({ timeMs }) => timeMs)) }
        // A replica always keeps its newest event; one created after everything was dropped has none.
        const madeAfter = dropped === events.length && sequence === events.length
        const first = Math.min(dropped, events.length - 1)
        const replica = madeAfter
          ? replicaOf(1, 0, null)
          : replicaOf(first + 1, events.length, events[first]?.recordedMs ?? null)
        const throughMs = beyondRetentionMs(replica, claimed, NOW)
        const gone = events.slice(0, madeAfter ? dropped : first)
        if (gone.length === 0) {
          expect(throughMs).toBe(null)
          return
        }
        for (const { timeMs } of gone) expect(timeMs).toBeLessThanOrEqual(throughMs ?? Number.NaN)
        expect(throughMs).toBeLessThanOrEqual(NOW - 7 * DAY_MS + 60_000)
      }),
    )
  })

  it('after a stop longer than retention covers what was published before it, not what arrived meanwhile', () => {
    const stoppedMs = NOW - 9 * DAY_MS
    const claimed = { sequence: 500, latestTimeMs: stoppedMs }
    expect(beyondRetentionMs(replicaOf(1, 0, null), claimed, NOW)).toBe(stoppedMs)
    // The same writer, once it has published the first of what it missed.
    expect(beyondRetentionMs(replicaOf(501, 600, NOW), claimed, NOW)).toBe(stoppedMs)
  })

  it('is null for a log that still has its first event, or has none yet', () => {
    expect(
      beyondRetentionMs(replicaOf(1, 9, NOW - 30 * DAY_MS), { sequence: 9, latestTimeMs: NOW }, NOW),
    ).toBe(null)
    expect(beyondRetentionMs(replicaOf(1, 0, null), { sequence: 0, latestTimeMs: 0 }, NOW)).toBe(null)
  })
})
