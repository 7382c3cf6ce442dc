/** A list of exchanges that a test changes, as a client of them: what the walk and the keeper meet. Owns no promises. */
import type { ExchangeDetail, ListedExchange } from '../../../src/upstream/exchange.ts'
import type { Failure, Outcome } from '../../../src/upstream/outcome.ts'
import type { ReferenceClient } from '../../../src/upstream/reference-client.ts'
import type { ManualClock } from '../../support/time/manual-clock.ts'

export interface ReferenceUpstream extends ReferenceClient {
  /** MIC to the words of its entry and its detail. */
  held: Map<string, { listed: string; detail: string }>
  /** What a request meets instead of an answer: `list`, or a MIC. */
  failing: Map<string, Failure>
  /** Said in the place of the next page's cursor. */
  nextCursor: string | null | undefined | 'honest'
  /** Every request: when it left and what it asked. */
  readonly requests: { atMs: number; asked: string }[]
}

/** Exchanges with these MICs. */
export function createReferenceUpstream(clock: ManualClock, mics: readonly string[]): ReferenceUpstream {
  const answered = <T>(asked: string, signal: AbortSignal, value: () => T | null): Outcome<T> => {
    const nowMs = clock.now()
    const timing = { startedMs: nowMs, endedMs: nowMs, serverMs: null, sent: !signal.aborted }
    if (signal.aborted) return { ...timing, kind: 'network', message: 'aborted' }
    requests.push({ atMs: nowMs, asked })
    const failure = upstream.failing.get(asked.startsWith('list') ? 'list' : asked)
    if (failure !== undefined) return { ...timing, ...failure }
    const found = value()
    return found === null
      ? { ...timing, kind: 'refused', status: 404, message: 'none', hint: null }
      : { ...timing, kind: 'ok', value: found }
  }
  const requests: { atMs: number; asked: string }[] = []
  const upstream: ReferenceUpstream = {
    held: new Map(mics.map((mic) => [mic, { listed: `listed ${mic}`, detail: `detail ${mic}` }])),
    failing: new Map(),
    nextCursor: 'honest',
    requests,
    async exchanges({ pageSize, pageCursor }, permit, signal) {
      await permit.throttle(signal)
      return answered(`list ${pageCursor ?? ''}`, signal, () => {
        const from = Number(pageCursor ?? 0)
        const all = [...upstream.held].map(([mic, { listed }]) => ({ ...listedOf(mic), text: listed }))
        const honest = from + pageSize < all.length ? String(from + pageSize) : null
        const nextCursor = upstream.nextCursor === 'honest' ? honest : upstream.nextCursor
        return { exchanges: all.slice(from, from + pageSize), unreadable: 0, nextCursor }
      })
    },
    async exchange(mic, permit, signal) {
      await permit.throttle(signal)
      return answered(mic, signal, () => {
        const detail = upstream.held.get(mic)?.detail
        return detail === undefined || detail === '' ? null : { ...detailOf(mic), text: detail }
      })
    },
  }
  return upstream
}

function listedOf(mic: string): ListedExchange {
  return { mic, name: null, country: null, city: null, status: null, comments: null, text: '' }
}

function detailOf(mic: string): ExchangeDetail {
  const dates = { creationDate: null, lastUpdateDate: null, expiryDate: null }
  return { ...listedOf(mic), ...dates, abbreviation: null, website: null, segments: [], self: null }
}
