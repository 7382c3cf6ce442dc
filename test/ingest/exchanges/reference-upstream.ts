/** Serves exchange references from a list that a test changes. */

import type { Throttle } from '../../../src/upstream/client.ts'
import type { Failure, Outcome } from '../../../src/upstream/outcome.ts'
import type { ExchangeListQuery, ReferenceClient } from '../../../src/upstream/reference-client.ts'
import type { ManualClock } from '../../support/time/manual-clock.ts'

export interface ReferenceUpstream extends ReferenceClient {
  /** MIC to the texts of its entry and its detail. */
  held: Map<string, { listed: string; detail: string }>
  /** Failures by request: `list`, or a MIC. */
  failing: Map<string, Failure>
  /** Replaces the cursor of the next page. */
  nextCursor: string | null | undefined | 'honest'
  /** Every request: when it was sent and what it requested. */
  readonly requests: { atMs: number; target: string }[]
}

/** Exchanges with these MICs. */
export function createReferenceUpstream(clock: ManualClock, mics: readonly string[]): ReferenceUpstream {
  const answered = <T>(target: string, signal: AbortSignal, value: () => T | null): Outcome<T> => {
    const nowMs = clock.now()
    const timing = { startedMs: nowMs, endedMs: nowMs, serverMs: null, sent: !signal.aborted }
    if (signal.aborted) return { ...timing, kind: 'network', message: 'aborted' }
    requests.push({ atMs: nowMs, target })
    const failure = upstream.failing.get(target.startsWith('list') ? 'list' : target)
    if (failure !== undefined) return { ...timing, ...failure }
    const found = value()
    return found === null
      ? { ...timing, kind: 'refused', status: 404, message: 'none', hint: null }
      : { ...timing, kind: 'ok', value: found }
  }
  const requests: { atMs: number; target: string }[] = []
  const upstream: ReferenceUpstream = {
    held: new Map(mics.map((mic) => [mic, { listed: `listed ${mic}`, detail: `detail ${mic}` }])),
    failing: new Map(),
    nextCursor: 'honest',
    requests,
    async exchanges({ pageSize, pageCursor }: ExchangeListQuery, permit: Throttle, signal: AbortSignal) {
      await permit.throttle(signal)
      return answered(`list ${pageCursor ?? ''}`, signal, () => {
        const from = Number(pageCursor ?? 0)
        const all = [...upstream.held].map(([mic, { listed }]) => ({ mic, text: listed, value: { mic } }))
        const honest = from + pageSize < all.length ? String(from + pageSize) : null
        const nextCursor = upstream.nextCursor === 'honest' ? honest : upstream.nextCursor
        return { exchanges: all.slice(from, from + pageSize), unreadable: 0, nextCursor }
      })
    },
    async exchange(mic: string, permit: Throttle, signal: AbortSignal) {
      await permit.throttle(signal)
      return answered(mic, signal, () => {
        const detail = upstream.held.get(mic)?.detail
        return detail === undefined || detail === '' ? null : { mic, text: detail, value: { mic } }
      })
    },
  }
  return upstream
}
