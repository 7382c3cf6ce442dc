/**
 * Writes attempts to the log's journal, beside the deliveries and never in their way: a bounded queue, written in pages, some
 * at a time. Owns the bounds, and that what does not fit or cannot be written is dropped, counted and said. Refuses to
 * let anybody wait for it, and to be read from.
 */
import { type Backoff, backoffMs } from '../../core/backoff.ts'
import { isBridgeError } from '../../errors.ts'
import { aborted } from '../../lifecycle/aborted.ts'
import { type Chance, type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Journal } from '../../log/journal.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Metrics } from '../../obs/metrics.ts'
import { createCursorDecodeCache } from '../delivery-state/cursor-decode-cache.ts'
import { outcomeOf } from '../delivery-state/outcome.ts'
import type { Attempted } from '../send/delivery.ts'
import { type AttemptPage, type AttemptRecord, attemptPage, attemptRecord } from './attempt-record.ts'

/** What may wait to be written; of more, the newest is dropped. */
export const queueBounds = { attempts: 50_000, bytes: 32 * 1024 * 1024 } as const

/** Time in which attempts are gathered for a page: as much as that a kill loses of them. */
export const GATHER_MS = 250
/** Most attempts of a page, and most bytes of it, counted as if every character needed an escape: below LARGEST_ROW_BYTES. */
const PAGE = { attempts: 500, bytes: 400 * 1024 }
/** Pages that are written together: a write waits for the log, which may have its time (`log-embedded/group-commit.ts`). */
const MOST_PAGES = 8
/** Bytes of an attempt besides its texts: in memory, and at most as JSON. */
const PLAIN_BYTES = 300
/** Bytes of a character of JSON, at most. */
const ESCAPED_BYTES = 6
/** Between two tries of a page that the log did not take. */
const AGAIN: Backoff = { baseMs: 500, factor: 2, maxMs: 15_000, jitter: 0.2 }
/** What is dropped is said so often. */
const SAY_EVERY_MS = 60_000
/** Time for what waits when the process stops. */
const CLOSE_MS = 2000

export interface AttemptJournal {
  /** Takes an attempt that had an end. Never throws and never waits. */
  add(attempted: Attempted): void
  /** Writes what waits, for 2 s at most; what comes later is dropped. Never rejects. Callable twice. */
  close(): Promise<void>
}

/** What it needs of the process. */
export interface AttemptJournalOptions {
  journal: Journal<AttemptPage>
  clock: Clock
  chance: Chance
  metrics: Pick<Metrics, 'webhookJournalDropped'>
  logger: Logger
  bounds?: { attempts: number; bytes: number }
}

/** A journal in which nothing waits yet. */
export function createAttemptJournal(options: AttemptJournalOptions): AttemptJournal {
  const { journal, clock, chance, metrics, logger, bounds = queueBounds } = options
  const closing = new AbortController()
  const over = new AbortController()
  const readCursor = createCursorDecodeCache()
  let queue: AttemptRecord[] = []
  let bytes = 0
  let writing: Promise<void> | null = null
  /** Attempts of the pages that are being written. */
  let inHand = 0
  let isFailing = false
  let unsaid = 0
  let saidMs = Number.NEGATIVE_INFINITY

  const say = (): void => {
    logger.warn('webhook.journal_dropped', { count: unsaid })
    unsaid = 0
    saidMs = clock.now()
  }
  const isTimeToSay = (): boolean => Math.abs(clock.now() - saidMs) >= SAY_EVERY_MS
  const drop = (count: number): void => {
    if (count === 0) return
    metrics.webhookJournalDropped.add({}, count)
    unsaid += count
    if (isTimeToSay()) say()
  }
  const takePage = (): readonly AttemptRecord[] => {
    const count = pageLength(queue)
    const page = queue.slice(0, count)
    queue = queue.slice(count)
    for (const record of page) bytes -= memoryOf(record)
    return page
  }
  const takePages = (): (readonly AttemptRecord[])[] => {
    const pages: (readonly AttemptRecord[])[] = []
    while (queue.length > 0 && pages.length < MOST_PAGES) pages.push(takePage())
    return pages
  }
  /** Until they are written, or dropped for a reason that waiting does not heal, or time is up. */
  const write = async (pages: readonly (readonly AttemptRecord[])[]): Promise<void> => {
    const records = pages.map((page) => attemptPage(page[0]?.epoch ?? '', page))
    for (let attempt = 1; !over.signal.aborted; attempt++) {
      try {
        await journal.append(records)
        if (isFailing) logger.info('webhook.journal_writes_again', { attempts: attempt })
        isFailing = false
        return
      } catch (error) {
        if (!isBridgeError(error, 'log_unavailable')) {
          logger.error('webhook.journal_refused', { count: inHand, error })
          drop(inHand)
          return
        }
        if (!isFailing) logger.warn('webhook.journal_stuck', { error })
        isFailing = true
        await sleep(clock, backoffMs(attempt, AGAIN, chance), over.signal)
      }
    }
  }
  const writeAll = async (): Promise<void> => {
    while (queue.length > 0) {
      if (queue.length < PAGE.attempts) await sleep(clock, GATHER_MS, closing.signal)
      for (let due = queue.length; due > 0; due -= inHand) {
        const pages = takePages()
        inHand = pages.reduce((count, page) => count + page.length, 0)
        await write(pages)
        if (over.signal.aborted) return
      }
      inHand = 0
      if (unsaid > 0 && isTimeToSay()) say()
    }
    writing = null
  }

  return {
    add(attempted) {
      const outcome = outcomeOf(attempted.end)
      const record = attemptRecord(attempted, {
        outcome,
        epoch: readCursor(attempted.delivery.cursor).epoch,
        nowMs: clock.now(),
      })
      const size = memoryOf(record)
      const isFull = queue.length >= bounds.attempts || bytes + size > bounds.bytes
      if (isFull || closing.signal.aborted) return drop(1)
      queue.push(record)
      bytes += size
      writing ??= writeAll()
    },
    async close() {
      closing.abort()
      const cancel = clock.after(CLOSE_MS, () => over.abort())
      await Promise.race([writing, aborted(over.signal)])
      cancel()
      over.abort()
      drop(queue.length + inHand)
      queue = []
      inHand = 0
      if (unsaid > 0) say()
    },
  }
}

/** How many of the first attempts make a page: of one epoch, within the bounds, one at least. */
function pageLength(queue: readonly AttemptRecord[]): number {
  const epoch = queue[0]?.epoch
  let bytes = 0
  for (const [index, record] of queue.entries()) {
    bytes += PLAIN_BYTES + ESCAPED_BYTES * (record.eventId.length + (record.response?.length ?? 0))
    const isBeyond = index === PAGE.attempts || record.epoch !== epoch || bytes > PAGE.bytes
    if (isBeyond) return Math.max(1, index)
  }
  return queue.length
}

function memoryOf({ eventId, response }: AttemptRecord): number {
  return PLAIN_BYTES + 2 * (eventId.length + (response?.length ?? 0))
}
