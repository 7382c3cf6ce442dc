/**
 * One walk over upstream's exchange references: the whole list, then every detail, into the log's table. Owns what a walk
 * may conclude: an exchange is gone only when a whole list lacks it. Refuses to choose when a walk or a request begins.
 */
import {
  EXCHANGES_TABLE,
  type ExchangeRecord,
  type ExchangeTexts,
  WALK_KEY,
} from '../../archive/exchanges.ts'
import { backoffMs } from '../../core/backoff.ts'
import { retryAfterMs } from '../../core/retry-after.ts'
import { type Chance, type Clock, sleep, yieldTurn } from '../../lifecycle/clock.ts'
import type { Log, Table } from '../../log/log.ts'
import type { Throttle } from '../../upstream/client.ts'
import type { ListedExchange } from '../../upstream/exchange.ts'
import type { Failure, Outcome } from '../../upstream/outcome.ts'
import type { ReferenceClient } from '../../upstream/reference-client.ts'

export interface ReferenceWalkParts {
  client: ReferenceClient
  log: Log
  /** Waited for before every request. */
  gate: Throttle
  /** Entries a page, 1 to 200. */
  pageSize: number
  clock: Clock
  chance: Chance
}

/** What a walk came to; the counts are those of this walk. */
export interface ReferenceWalk {
  /** `partial`: the whole list, but not every detail; `failed`: given up for now; `stopped`: the signal aborted. */
  result: 'complete' | 'partial' | 'failed' | 'stopped'
  /** Why it is not complete, else null. */
  reason: string | null
  /** Those that left this machine. */
  requests: number
  /** Exchanges in the list. */
  count: number
  /** Records written because upstream said something new. */
  changed: number
  removed: number
  /** Entries without a MIC, and details that could not be read. */
  unread: number
}

/** Tries of one request, and the waits between them. */
const ATTEMPTS = 5
const RETRY = { baseMs: 2_000, factor: 2, maxMs: 60_000, jitter: 0.1 }
/** Longest that a Retry-After is heeded. */
const LONGEST_RETRY_AFTER_MS = 10 * 60_000
/** Details in a row that could not be read, after which upstream is left alone. */
const FAILURES_IN_A_ROW = 3
/** The registry knows some 1,600 operating MICs; a list that goes on after so many pages has no end. */
const MOST_PAGES = 200
const MOST_EXCHANGES = 10_000

/** Walks until it is done, upstream fails for good, or the signal aborts. @throws what the log throws */
export async function walkReferences(parts: ReferenceWalkParts, signal: AbortSignal): Promise<ReferenceWalk> {
  const walk: ReferenceWalk = {
    ...{ result: 'complete', reason: null, requests: 0 },
    ...{ count: 0, changed: 0, removed: 0, unread: 0 },
  }
  const table = parts.log.table<ExchangeRecord>(EXCHANGES_TABLE)
  const listed = await readList(parts, walk, signal)
  if (listed === null) return ended(walk, 'failed', signal)
  walk.count = listed.size
  const kept = await keepList(table, listed, walk, signal)
  if (kept === null) return ended(walk, 'failed', signal)
  const told = await readDetails(parts, table, kept, walk, signal)
  if (!told) return ended(walk, 'failed', signal)
  if (walk.reason !== null) return ended(walk, 'partial', signal)
  await table.put(WALK_KEY, { kind: 'walk', completedMs: parts.clock.now() })
  return walk
}

function ended(walk: ReferenceWalk, result: 'partial' | 'failed', signal: AbortSignal): ReferenceWalk {
  return signal.aborted ? { ...walk, result: 'stopped', reason: null } : { ...walk, result }
}

/** The whole list by MIC, or null with the reason in the walk. */
async function readList(
  parts: ReferenceWalkParts,
  walk: ReferenceWalk,
  signal: AbortSignal,
): Promise<Map<string, ListedExchange> | null> {
  const listed = new Map<string, ListedExchange>()
  const cursors = new Set<string>()
  for (let page = 1; page <= MOST_PAGES; page++) {
    const pageCursor = [...cursors].at(-1)
    const query = { pageSize: parts.pageSize, ...(pageCursor === undefined ? {} : { pageCursor }) }
    const outcome = await ask(parts, walk, signal, () => parts.client.exchanges(query, parts.gate, signal))
    if (outcome.kind !== 'ok') return giveUp(walk, reasonOf(outcome))
    const { exchanges, unreadable, nextCursor } = outcome.value
    walk.unread += unreadable
    for (const exchange of exchanges) listed.set(exchange.mic, exchange)
    if (listed.size > MOST_EXCHANGES)
      return giveUp(walk, `the list has more than ${MOST_EXCHANGES} exchanges`)
    if (nextCursor === null) return listed.size === 0 ? giveUp(walk, 'the list is empty') : listed
    if (nextCursor === undefined) return giveUp(walk, 'the answer does not say how the walk goes on')
    if (cursors.has(nextCursor)) return giveUp(walk, 'the page cursor goes in circles')
    cursors.add(nextCursor)
  }
  return giveUp(walk, `the list has no end after ${MOST_PAGES} pages`)
}

function giveUp(walk: ReferenceWalk, reason: string): null {
  walk.reason = reason
  return null
}

/**
 * Writes what is new in a whole list and takes out what it lacks. Returns the records as they are now; null where the
 * signal aborted before: the mark of the walk comes last, and the next one does what is left. A turn a row: the embedded
 * log writes each through to the disk at once.
 */
async function keepList(
  table: Table<ExchangeRecord>,
  listed: ReadonlyMap<string, ListedExchange>,
  walk: ReferenceWalk,
  signal: AbortSignal,
): Promise<Map<string, ExchangeTexts> | null> {
  const held = await table.load()
  const kept = new Map<string, ExchangeTexts>()
  for (const [mic, { text }] of listed) {
    const before = held.get(mic)
    const { kind: _, ...texts } = before?.kind === 'exchange' ? before : { kind: 'exchange', listed: '' }
    kept.set(mic, { ...texts, listed: text })
    if (texts.listed === text) continue
    await keep(table, mic, { ...texts, listed: text }, walk)
    await yieldTurn()
    if (signal.aborted) return null
  }
  for (const key of held.keys()) {
    if (key === WALK_KEY || listed.has(key)) continue
    await table.delete(key)
    walk.removed += 1
    await yieldTurn()
    if (signal.aborted) return null
  }
  if (!held.has(WALK_KEY)) await table.put(WALK_KEY, { kind: 'walk', completedMs: null })
  return kept
}

/** Reads every detail, those never read before first. False when upstream had to be left alone. */
async function readDetails(
  parts: ReferenceWalkParts,
  table: Table<ExchangeRecord>,
  kept: ReadonlyMap<string, ExchangeTexts>,
  walk: ReferenceWalk,
  signal: AbortSignal,
): Promise<boolean> {
  const isNew = ([, { detail }]: [string, ExchangeTexts]): boolean => detail === undefined
  const order = [...kept]
  let failuresInARow = 0
  for (const [mic, texts] of [...order.filter(isNew), ...order.filter((entry) => !isNew(entry))]) {
    const outcome = await ask(parts, walk, signal, () => parts.client.exchange(mic, parts.gate, signal))
    if (signal.aborted) return false
    const said = detailOf(outcome)
    if ('reason' in said) {
      walk.unread += 1
      walk.reason = `${mic}: ${said.reason}`
      failuresInARow += 1
      if (failuresInARow === FAILURES_IN_A_ROW) return false
      continue
    }
    failuresInARow = 0
    const { detail } = said
    if (detail !== texts.detail) await keep(table, mic, { ...texts, detail }, walk)
  }
  return true
}

/** The detail's text, null where upstream has none, or why it is not known. */
function detailOf(outcome: Outcome<{ text: string }>): { detail: string | null } | { reason: string } {
  if (outcome.kind === 'ok') return { detail: outcome.value.text }
  const hasNone = outcome.kind === 'refused' && outcome.status === 404
  return hasNone ? { detail: null } : { reason: reasonOf(outcome) }
}

async function keep(
  table: Table<ExchangeRecord>,
  mic: string,
  texts: ExchangeTexts,
  walk: ReferenceWalk,
): Promise<void> {
  await table.put(mic, { kind: 'exchange', ...texts })
  walk.changed += 1
}

/** Sends until there is an answer, good or a refusal, at most ATTEMPTS times. */
async function ask<T>(
  { clock, chance }: ReferenceWalkParts,
  walk: ReferenceWalk,
  signal: AbortSignal,
  send: () => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await send()
    if (outcome.sent) walk.requests += 1
    const answered = outcome.kind === 'ok' || outcome.kind === 'refused'
    if (answered || attempt === ATTEMPTS || signal.aborted) return outcome
    const askedMs = outcome.kind === 'too_many' ? retryAfterMs(outcome.retryAfter, clock.now()) : null
    const waitMs = Math.max(backoffMs(attempt, RETRY, chance), Math.min(askedMs ?? 0, LONGEST_RETRY_AFTER_MS))
    await sleep(clock, waitMs, signal)
  }
}

function reasonOf(failure: Failure): string {
  if (failure.kind === 'invalid') return failure.reason
  if (failure.kind === 'network') return failure.message
  return 'status' in failure ? `status ${failure.status}` : failure.kind
}
