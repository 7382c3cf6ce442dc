/**
 * Downloads upstream's reference data of stock exchanges into the log's table `exchanges`: first the complete list, then the
 * detail of each exchange. A stored exchange is deleted only when a complete list no longer has it.
 */
import {
  EXCHANGES_TABLE,
  type ExchangeRecord,
  type ExchangeTexts,
  WALK_KEY,
} from '../../archive/exchanges.ts'
import { backoffMs } from '../../core/backoff.ts'
import { MINUTE_MS } from '../../core/durations.ts'
import { retryAfterMs } from '../../core/retry-after.ts'
import { type Chance, type Clock, sleep, yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { Log } from '../../log/log.ts'
import type { Table } from '../../log/tables.ts'
import type { Throttle } from '../../upstream/client.ts'
import type { ExchangeReference } from '../../upstream/exchange.ts'
import type { Failure, Outcome } from '../../upstream/outcome.ts'
import type { ReferenceClient } from '../../upstream/reference-client.ts'

/** What a scan is built from. */
export interface ReferenceScanParts {
  client: ReferenceClient
  log: Log
  /** Waited for before every request. */
  permit: Throttle
  /** Entries a page, 1 to 200. */
  pageSize: number
  clock: Clock
  chance: Chance
}

/** The result of a scan; the counts are those of this scan. */
export interface ReferenceScanResult {
  /** `partial`: the complete list, but not every detail; `failed`: given up for now; `stopped`: the signal aborted. */
  result: 'complete' | 'partial' | 'failed' | 'stopped'
  /** Why it is not complete, else null. */
  reason: string | null
  /** Requests that left this machine. */
  requests: number
  /** Exchanges in the list. */
  count: number
  /** Records written because upstream's text differed. */
  changed: number
  removed: number
  /** Entries without a MIC, and details that could not be read. */
  unread: number
}

/** The result of a scan that has not begun. */
export const NOTHING_SCANNED: Readonly<ReferenceScanResult> = {
  result: 'complete',
  reason: null,
  requests: 0,
  count: 0,
  changed: 0,
  removed: 0,
  unread: 0,
}

/** Tries of one request, and the waits between them. */
const ATTEMPTS = 5
const RETRY = { baseMs: 2_000, factor: 2, maxMs: MINUTE_MS, jitter: 0.1 }
/** Longest Retry-After that is respected. */
const LONGEST_RETRY_AFTER_MS = 10 * MINUTE_MS
/** Unreadable details in a row after which the scan is given up. */
const FAILURES_IN_A_ROW = 3
/** The registry has some 1,600 operating MICs; a list beyond these limits never ends. */
const MOST_PAGES = 200
const MOST_EXCHANGES = 10_000

/** Scans until it is complete, upstream keeps failing, or the signal aborts. @throws what the log throws */
export async function scanReferences(
  parts: ReferenceScanParts,
  signal: AbortSignal,
): Promise<ReferenceScanResult> {
  const scan = new ReferenceScan(parts, signal)
  const result = await scan.run()
  return signal.aborted && result !== 'complete'
    ? { ...scan.counts, result: 'stopped', reason: null }
    : { ...scan.counts, result }
}

class ReferenceScan {
  readonly counts: Omit<ReferenceScanResult, 'result'> = { ...NOTHING_SCANNED }
  readonly #parts: ReferenceScanParts
  readonly #signal: AbortSignal
  readonly #table: Table<ExchangeRecord>

  constructor(parts: ReferenceScanParts, signal: AbortSignal) {
    this.#parts = parts
    this.#signal = signal
    this.#table = parts.log.table<ExchangeRecord>(EXCHANGES_TABLE)
  }

  async run(): Promise<'complete' | 'partial' | 'failed'> {
    const listed = await this.#readList()
    if (listed === null) return 'failed'
    this.counts.count = listed.size
    const stored = await this.#storeList(listed)
    if (stored === null || !(await this.#readDetails(stored))) return 'failed'
    if (this.counts.reason !== null) return 'partial'
    await this.#table.put(WALK_KEY, { kind: 'walk', completedMs: this.#parts.clock.now() })
    return 'complete'
  }

  /** The complete list by MIC; null where it could not be read. */
  async #readList(): Promise<Map<string, ExchangeReference> | null> {
    const { client, permit, pageSize } = this.#parts
    const listed = new Map<string, ExchangeReference>()
    const cursors = new Set<string>()
    for (let page = 1; page <= MOST_PAGES; page++) {
      const pageCursor = [...cursors].at(-1)
      const query = { pageSize, ...(pageCursor !== undefined && { pageCursor }) }
      const outcome = await this.#request(() => client.exchanges(query, permit, this.#signal))
      if (outcome.kind !== 'ok') return this.#fail(reasonOf(outcome))
      const { exchanges, unreadable, nextCursor } = outcome.value
      this.counts.unread += unreadable
      for (const exchange of exchanges) listed.set(exchange.mic, exchange)
      if (listed.size > MOST_EXCHANGES)
        return this.#fail(`the list has more than ${MOST_EXCHANGES} exchanges`)
      if (nextCursor === null) return listed.size === 0 ? this.#fail('the list is empty') : listed
      if (nextCursor === undefined) return this.#fail('the page has no `nextCursor`')
      if (cursors.has(nextCursor)) return this.#fail('the page cursor repeats')
      cursors.add(nextCursor)
    }
    return this.#fail(`the list does not end after ${MOST_PAGES} pages`)
  }

  #fail(reason: string): null {
    this.counts.reason = reason
    return null
  }

  /**
   * Writes changed entries, deletes missing ones, and returns the stored texts by MIC; null where the signal aborted: the next
   * scan continues. Yields after each row, because the embedded log writes each one to disk synchronously.
   */
  async #storeList(
    listed: ReadonlyMap<string, ExchangeReference>,
  ): Promise<Map<string, ExchangeTexts> | null> {
    const before = await this.#table.load()
    const stored = new Map<string, ExchangeTexts>()
    for (const [mic, { text }] of listed) {
      const row = before.get(mic)
      const { kind: _, ...texts } = row?.kind === 'exchange' ? row : { kind: 'exchange', listed: '' }
      stored.set(mic, { ...texts, listed: text })
      if (texts.listed === text) continue
      await this.#store(mic, { ...texts, listed: text })
      await yieldToEventLoop()
      if (this.#signal.aborted) return null
    }
    for (const key of before.keys()) {
      if (key === WALK_KEY || listed.has(key)) continue
      await this.#table.delete(key)
      this.counts.removed += 1
      await yieldToEventLoop()
      if (this.#signal.aborted) return null
    }
    if (!before.has(WALK_KEY)) await this.#table.put(WALK_KEY, { kind: 'walk', completedMs: null })
    return stored
  }

  /** Reads every detail, those never read before first. False when the scan was given up. */
  async #readDetails(stored: ReadonlyMap<string, ExchangeTexts>): Promise<boolean> {
    const { client, permit } = this.#parts
    const isNew = ([, { detail }]: [string, ExchangeTexts]): boolean => detail === undefined
    const all = [...stored]
    let failuresInARow = 0
    for (const [mic, texts] of [...all.filter(isNew), ...all.filter((entry) => !isNew(entry))]) {
      const outcome = await this.#request(() => client.exchange(mic, permit, this.#signal))
      if (this.#signal.aborted) return false
      const read = detailOf(outcome)
      if ('reason' in read) {
        this.counts.unread += 1
        this.counts.reason = `${mic}: ${read.reason}`
        failuresInARow += 1
        if (failuresInARow === FAILURES_IN_A_ROW) return false
        continue
      }
      failuresInARow = 0
      if (read.detail !== texts.detail) await this.#store(mic, { ...texts, detail: read.detail })
    }
    return true
  }

  async #store(mic: string, texts: ExchangeTexts): Promise<void> {
    await this.#table.put(mic, { kind: 'exchange', ...texts })
    this.counts.changed += 1
  }

  /** Sends until upstream answers or rejects the request, at most ATTEMPTS times. */
  async #request<T>(send: () => Promise<Outcome<T>>): Promise<Outcome<T>> {
    const { clock, chance } = this.#parts
    for (let attempt = 1; ; attempt++) {
      const outcome = await send()
      if (outcome.sent) this.counts.requests += 1
      const isAnswered = outcome.kind === 'ok' || outcome.kind === 'refused'
      if (isAnswered || attempt === ATTEMPTS || this.#signal.aborted) return outcome
      const askedMs = outcome.kind === 'too_many' ? retryAfterMs(outcome.retryAfter, clock.now()) : null
      const waitMs = Math.max(
        backoffMs(attempt, RETRY, chance),
        Math.min(askedMs ?? 0, LONGEST_RETRY_AFTER_MS),
      )
      await sleep(clock, waitMs, this.#signal)
    }
  }
}

/** The detail's text, null where upstream has none, or why it could not be read. */
function detailOf(outcome: Outcome<{ text: string }>): { detail: string | null } | { reason: string } {
  if (outcome.kind === 'ok') return { detail: outcome.value.text }
  const hasNone = outcome.kind === 'refused' && outcome.status === 404
  return hasNone ? { detail: null } : { reason: reasonOf(outcome) }
}

function reasonOf(failure: Failure): string {
  if (failure.kind === 'invalid') return failure.reason
  if (failure.kind === 'network') return failure.message
  return 'status' in failure ? `status ${failure.status}` : failure.kind
}
