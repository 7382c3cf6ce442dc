/** Compares what a reader received with the sandbox's own record: nothing missing, nothing twice, in order, gap-free. */
import { expect } from 'vitest'
import { contentHash } from '../../../src/core/disclosure.ts'
import type { ApiEvent } from '../http/api-client.ts'

/** One item revision as the sandbox recorded it. */
export interface TruthItem {
  guid: string
  contentHash: string
}

export interface Verdict {
  /** Revisions shown that are neither in the events nor inside an open gap, as `guid hash`. */
  missing: string[]
  /** Revisions that came more than once. */
  twice: string[]
  /** Sequences that do not follow the one before. */
  holes: string[]
  gaps: ApiEvent[]
}

/** Compares events, in the order they were read from the start, with the sandbox's record. */
export function compare(truth: readonly TruthItem[], events: readonly ApiEvent[]): Verdict {
  const disclosures = events.filter((event) => !event.type.startsWith('bridge.'))
  const seen = new Map<string, number>()
  for (const event of disclosures) {
    const key = `${String(event.data.guid)} ${contentHash(event.data)}`
    seen.set(key, (seen.get(key) ?? 0) + 1)
  }
  return {
    missing: truth.map((item) => `${item.guid} ${item.contentHash}`).filter((key) => !seen.has(key)),
    twice: [...seen].filter(([, times]) => times > 1).map(([key]) => key),
    holes: events
      .filter((event, index) => Number(event.sequence) !== index + 1)
      .map((event) => event.sequence),
    gaps: events.filter((event) => event.type.startsWith('bridge.gap.')),
  }
}

/** Checks everything at once. Order: by time, then guid inside a commit, except for `late` items. */
export function expectComplete(truth: readonly TruthItem[], events: readonly ApiEvent[]): void {
  const { missing, twice, holes } = compare(truth, events)
  expect({ missing, twice, holes }).toEqual({ missing: [], twice: [], holes: [] })
  let latestMs = 0
  for (const event of events) {
    if (event.type.startsWith('bridge.')) continue
    const timeMs = Date.parse(event.time)
    expect({ id: event.id, late: event.late }).toEqual({
      id: event.id,
      late: timeMs < latestMs ? 'true' : undefined,
    })
    latestMs = Math.max(latestMs, timeMs)
  }
}
