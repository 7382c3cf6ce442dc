/**
 * Keeps the requests to upstream of this process's leadership in the log's table `polls`: each within two seconds, and at most
 * one write in ten. No commit waits for it; a crash loses the requests since the last write.
 */
import {
  bucketOfKey,
  type KeptRequest,
  POLLS_KEPT_MS,
  POLLS_TABLE,
  type PollsRow,
  pollsKey,
  withRequest,
} from '../archive/polls.ts'
import { SECOND_MS } from '../core/durations.ts'
import { isLogOutage } from '../errors.ts'
import { bucketOf } from '../governor/quota/time-buckets.ts'
import { aborted } from '../lifecycle/aborted.ts'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import { createWakeup } from '../lifecycle/wakeup.ts'
import type { Log } from '../log/log.ts'
import type { Table } from '../log/tables.ts'
import type { Logger } from '../obs/logger.ts'
import type { PollResult } from '../obs/metrics.ts'
import { aheadMs } from './leader-report.ts'
import { isPoll } from './machine/jobs.ts'
import type { IngestConfig, IngestState, PageOutcome } from './machine/state.ts'
import type { Observer } from './poller/ingest-metrics.ts'

/** What the keeper is built from. */
export interface PollKeeperParts {
  log: Pick<Log, 'table'>
  config: Pick<IngestConfig, 'pageSize'>
  clock: Clock
  logger: Logger
}

/** From a request to its write, so that those of a burst share one, and the least time between two writes; ms. */
const GATHER_MS = 2 * SECOND_MS
const REST_MS = 10 * SECOND_MS
/** Most time for the last write: a stop does not wait for an unavailable log. */
const LAST_WRITE_MS = SECOND_MS
/** Most expired rows that are deleted after one write. */
const MOST_DELETED = 20

/** Keeps what it observes once `run` has been called. */
export class PollKeeper {
  readonly #parts: PollKeeperParts
  readonly #table: Table<PollsRow>
  readonly #wakeup = createWakeup()
  /** The newest row, and earlier ones that are not written yet. */
  readonly #rows = new Map<string, PollsRow>()
  #newest: { key: string; bucketMs: number; leaderSinceMs: number } | null = null
  /** Rows that were made so far. */
  #made = 0
  readonly #unwritten = new Set<string>()
  /** Keys of the table; null until they were read in this leadership. */
  #stored: Set<string> | null = null
  #leaderSinceMs: number | null = null
  #state: IngestState | null = null
  #answer: PageOutcome | null = null
  #isFailing = false

  constructor(parts: PollKeeperParts) {
    this.#parts = parts
    this.#table = parts.log.table<PollsRow>(POLLS_TABLE)
  }

  /** An observer that forwards to the given one and notes each request that has ended. */
  observing(observer: Observer): Observer {
    return {
      ...observer,
      leads: (sinceMs) => {
        observer.leads(sinceMs)
        this.#leaderSinceMs = sinceMs
        this.#stored = null
      },
      answered: (answer) => {
        observer.answered(answer)
        this.#answer = answer
      },
      requestDone: (purpose, result, cause) => {
        observer.requestDone(purpose, result, cause)
        if (purpose !== 'gateway') this.#note(purpose, result)
      },
      stateChanged: (state, nowMs) => {
        observer.stateChanged(state, nowMs)
        if (state.request !== this.#state?.request) this.#answer = null
        this.#state = state
      },
    }
  }

  /** Writes until the signal aborts, then what is left, for a second at most. Rejects only for faults of ours or a damaged log. */
  async run(signal: AbortSignal): Promise<void> {
    const over = new AbortController()
    const late = aborted(signal).then(() => sleep(this.#parts.clock, LAST_WRITE_MS, over.signal))
    try {
      await Promise.race([this.#writeUntil(signal), late])
    } finally {
      over.abort()
    }
  }

  async #writeUntil(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts
    while (!signal.aborted) {
      if (this.#unwritten.size === 0) await this.#wakeup.wait(signal)
      await sleep(clock, GATHER_MS, signal)
      await this.#write()
      await sleep(clock, REST_MS - GATHER_MS, signal)
    }
    await this.#write()
  }

  /** The request that has ended is that of the state before this one. */
  #note(purpose: KeptRequest[1], result: PollResult): void {
    const { config, clock } = this.#parts
    if (this.#leaderSinceMs === null) return
    const answer = this.#answer
    const page = answer?.kind === 'ok' && (result === 'new' || result === 'empty') ? answer.value : null
    const isFull = page !== null && (page.hasMore === true || page.count >= config.pageSize)
    const atMs = answer?.startedMs ?? this.#state?.request?.startedMs ?? clock.now()
    const key = this.#rowFor(bucketOf(atMs), this.#leaderSinceMs)
    const row = this.#rows.get(key) ?? { aheadMs: null, requests: [], minutes: [] }
    this.#rows.set(
      key,
      withRequest(row, [
        atMs,
        purpose,
        result,
        page?.fresh.length ?? null,
        page === null ? null : isFull ? 1 : 0,
        isPoll(purpose) ? Math.round(this.#state?.plan.intervalMs ?? 0) : null,
        answer === null ? null : answer.endedMs - answer.startedMs,
      ]),
    )
    this.#unwritten.add(key)
    this.#wakeup.wake()
  }

  /** The key of the row for that time bucket: the newest row, or a new one. */
  #rowFor(bucketMs: number, leaderSinceMs: number): string {
    const newest = this.#newest
    if (newest?.bucketMs === bucketMs && newest.leaderSinceMs === leaderSinceMs) return newest.key
    this.#made += 1
    const key = pollsKey(bucketMs, leaderSinceMs, this.#made)
    this.#newest = { key, bucketMs, leaderSinceMs }
    return key
  }

  async #write(): Promise<void> {
    const { logger } = this.#parts
    try {
      const aheadOfUs = this.#state === null ? null : aheadMs(this.#state)
      for (const key of this.#unwritten) {
        const row = this.#rows.get(key)
        if (row !== undefined) await this.#table.put(key, { ...row, aheadMs: aheadOfUs })
        // One that grew meanwhile is written again.
        if (this.#rows.get(key) === row) this.#unwritten.delete(key)
        this.#stored?.add(key)
      }
      for (const key of this.#rows.keys()) {
        if (key !== this.#newest?.key && !this.#unwritten.has(key)) this.#rows.delete(key)
      }
      await this.#deleteExpired()
      if (this.#isFailing) logger.info('polls.write_recovered')
      this.#isFailing = false
    } catch (error) {
      if (!isLogOutage(error)) throw error
      if (!this.#isFailing) logger.warn('polls.write_failed', { error })
      this.#isFailing = true
    }
  }

  async #deleteExpired(): Promise<void> {
    if (this.#leaderSinceMs === null) return
    this.#stored ??= new Set((await this.#table.load()).keys())
    const oldestMs = this.#parts.clock.now() - POLLS_KEPT_MS
    const expired = [...this.#stored].filter((key) => bucketOfKey(key) < oldestMs).slice(0, MOST_DELETED)
    for (const key of expired) {
      await this.#table.delete(key)
      this.#stored.delete(key)
    }
  }
}
