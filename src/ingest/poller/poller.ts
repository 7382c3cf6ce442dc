/**
 * The poller role: performs what the state machine decides and feeds back what happened. Owns the one writer, the
 * request in flight, the wake-up timer. Refuses to decide anything.
 */
import { isoMillis } from '../../core/dates.ts'
import { BridgeError, isBridgeError, isLogOutage } from '../../errors.ts'
import type { TokenBucket } from '../../governor/quota/token-bucket.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { Head, Log, Purpose, Term, Writer } from '../../log/log.ts'
import { rejectedHash } from '../../log/rejected-window.ts'
import type { Logger } from '../../obs/logger.ts'
import type { ListQuery, UpstreamClient } from '../../upstream/client.ts'
import type { FundCall, FundOutcome } from '../../upstream/fund-client.ts'
import type { Page } from '../../upstream/page.ts'
import type {
  Action,
  Answer,
  IngestConfig,
  IngestState,
  Input,
  QueuedCommit,
  ReadPage,
} from '../machine/state.ts'
import { initialState } from '../machine/state.ts'
import { step } from '../machine/step.ts'
import type { Observer } from './ingest-metrics.ts'
import { createAhead, type KnownCopy } from './not-yet-replicated.ts'
import { readItems } from './read-page.ts'
import { forgottenThroughMs, type KeptCopy } from './retention-bound.ts'
import { createGate } from './send-permit.ts'

/** The node's copy of the log, as far as the poller needs it. */
export interface Copy extends KnownCopy, KeptCopy {
  /**
   * Resolves when the copy, of that epoch, has reached the sequence, or the signal aborts.
   * @throws BridgeError `log_damaged` when the copy is of another epoch
   */
  caughtUp(sequence: number, epoch: string, signal: AbortSignal): Promise<void>
}

/** What the poller is built from. */
export interface PollerParts {
  log: Log
  copy: Copy
  client: UpstreamClient
  bucket: TokenBucket
  config: IngestConfig
  clock: Clock
  logger: Logger
  observer: Observer
}

export interface Poller {
  /** Runs until the signal aborts, then releases. Rejects when the process must stop (damage, impossible settings). */
  run(signal: AbortSignal): Promise<void>
  /**
   * Sends a request that is not the poller's own on the writer of this moment, through the same throttle, and takes its end
   * to heart. Null where this process does not lead, or leads no longer when the answer comes.
   */
  pass(send: (call: FundCall) => Promise<FundOutcome>): Promise<FundOutcome | null>
  /** The state as it is now, for the status page. */
  readonly state: IngestState
  /** Since when this process leads, ms since 1970; null while it does not. */
  readonly leaderSinceMs: number | null
}

/** Rejected items remembered. */
const REJECTED_KEPT = 10_000
/** Pause between tries to claim while the log is not available. */
const CLAIM_RETRY_MS = 1000

/** A poller that has not started yet. */
export function createPoller(parts: PollerParts): Poller {
  const { log, copy, client, bucket, config, clock, logger, observer } = parts
  let state = initialState()
  let leaderSinceMs: number | null = null
  let term: Term | null = null
  let writer: Writer | null = null
  let request = new AbortController()
  /** Changes with every campaign and claim: what an earlier one still brings is dropped. */
  let stretch = new AbortController()
  let cancelWake = (): void => {}
  /** Hashes of the rejected texts, so that overlapping pages keep each only once. */
  const rejected = new Set<string>()
  const ahead = createAhead(copy)
  /** What the writer of this stretch began with. */
  let claimed: Readonly<Head> = state.head
  const done = Promise.withResolvers<void>()

  const feed = (input: Input): void => {
    try {
      const turn = step(state, input, config)
      state = turn.state
      for (const action of turn.actions) perform(action)
      observer.stateChanged(state, clock.now())
    } catch (error) {
      done.reject(error)
    }
  }

  const newStretch = (): AbortSignal => {
    stretch.abort()
    stretch = new AbortController()
    ahead.clear()
    return stretch.signal
  }

  /** Runs asynchronous work of this stretch; its faults end the process, its result counts only while it lasts. */
  const during = (signal: AbortSignal, work: () => Promise<Input | null>): void => {
    work().then(
      (input) => {
        if (input !== null && !signal.aborted) feed(input)
      },
      (error) => {
        if (!signal.aborted) done.reject(error)
      },
    )
  }

  const perform = (action: Action): void => {
    switch (action.type) {
      case 'campaign':
        return campaign()
      case 'claim':
        return claim()
      case 'await-copy':
        return awaitCopy(action.sequence)
      case 'wake':
        cancelWake()
        cancelWake = clock.after(action.atMs - clock.now(), () => feed({ type: 'woke', nowMs: clock.now() }))
        return
      case 'request':
        return send(action.purpose, action.query)
      case 'commit':
        return commit(action.queued)
      case 'abandon':
        request.abort()
        return
      case 'release':
        return release()
      case 'tally':
        return observer.requestDone(action.purpose, action.result, action.cause)
      case 'report':
        return logger[action.level](action.event, action.fields)
      case 'halt':
        done.reject(new BridgeError('settings', action.message, { hint: action.hint }))
    }
  }

  const campaign = (): void => {
    const signal = newStretch()
    // A term that was lost in good health ends with the commit under way; a fenced writer has ended already.
    void writer?.release()
    writer = null
    const before = term
    term = null
    leaderSinceMs = null
    observer.leads(false)
    during(signal, async () => {
      // Who was fenced may still hold the term, and would claim in it again: against whoever leads by right.
      await before?.end()
      let won = await log.campaign(signal)
      while (won.lost.aborted) won = await log.campaign(signal)
      term = won
      won.lost.addEventListener('abort', () => {
        if (term === won) feed({ type: 'lost', nowMs: clock.now() })
      })
      leaderSinceMs = clock.now()
      observer.leads(true)
      return { type: 'elected', nowMs: clock.now() }
    })
  }

  const claim = (): void => {
    const signal = newStretch()
    const current = term
    if (current === null) throw new Error('a claim without a term')
    during(signal, async () => {
      for (let attempt = 1; ; attempt++) {
        let mine: Writer | null = null
        try {
          mine = await log.claim(current, signal)
          writer = mine
          for (const hash of await log.rejectedHashes(REJECTED_KEPT)) rememberRejected(hash)
          signal.throwIfAborted()
          claimed = mine.state.head
          bucket.drain(clock.now())
          if (attempt > 1) logger.info('log.available', { attempts: attempt })
          return { type: 'claimed', writer: mine.state, nowMs: clock.now() }
        } catch (error) {
          // The next try has a writer of its own; a later stretch may have one already.
          if (writer === mine) writer = null
          await mine?.release()
          if (signal.aborted) return null
          if (isBridgeError(error, 'log_fenced')) return { type: 'broke', code: 'fenced', nowMs: clock.now() }
          if (!isLogOutage(error)) throw error
          if (attempt === 1) logger.error('log.unavailable', { error })
          await sleep(clock, CLAIM_RETRY_MS, signal)
        }
      }
    })
  }

  const awaitCopy = (sequence: number): void => {
    const { signal } = stretch
    during(signal, async () => {
      await copy.caughtUp(sequence, state.head.epoch, signal)
      return { type: 'copied', nowMs: clock.now() }
    })
  }

  const send = (purpose: Purpose, query: ListQuery): void => {
    const current = writer
    if (current === null) throw new Error('a request without a writer')
    request = new AbortController()
    const { signal } = request
    const gate = createGate({ writer: current, bucket, clock, signal })
    during(AbortSignal.any([signal, stretch.signal]), async () => {
      try {
        const outcome = await client.list(query, purpose, gate, signal)
        const nowMs = clock.now()
        const answer: Answer =
          outcome.kind === 'ok' ? { ...outcome, value: readPage(outcome.value, nowMs) } : outcome
        observer.answered(answer)
        return { type: 'answered', answer, spentMs: gate.spentMs, ledger: current.state.ledger, nowMs }
      } catch (error) {
        return brokenBy(error)
      }
    })
  }

  const pass: Poller['pass'] = async (send) => {
    const current = writer
    const { signal } = stretch
    if (current === null || signal.aborted) return null
    const gate = createGate({ writer: current, bucket, clock, signal })
    try {
      const outcome = await send({ gate, signal })
      if (signal.aborted) return null
      feed({
        ...{ type: 'passed', outcome, spentMs: gate.spentMs },
        ...{ ledger: current.state.ledger, nowMs: clock.now() },
      })
      return outcome
    } catch (error) {
      if (!signal.aborted) feed(brokenBy(error))
      return null
    }
  }

  const readPage = (page: Page, nowMs: number): ReadPage => {
    const throughMs = forgottenThroughMs(copy, claimed, nowMs)
    let count = 0
    const isForgotten = (timeMs: number): boolean => {
      if (throughMs === null || timeMs > throughMs) return false
      count += 1
      return true
    }
    const isRejected = (text: string): boolean => rejected.has(rejectedHash(text))
    const read = readItems(page, ahead.standings, isRejected, isForgotten, nowMs)
    if (throughMs !== null && count > 0) {
      logger.warn('items.too_old', { items: count, until: isoMillis(throughMs) })
    }
    return read
  }

  const commit = (queued: QueuedCommit): void => {
    const current = writer
    if (current === null) throw new Error('a commit without a writer')
    const startMs = clock.now()
    during(stretch.signal, async () => {
      try {
        const committed = await current.commit(queued.commit)
        const nowMs = clock.now()
        ahead.remember(committed)
        for (const item of queued.commit.rejected ?? []) rememberRejected(rejectedHash(item.raw))
        observer.committed(queued, committed, { startMs, nowMs })
        return { type: 'committed', writer: current.state, nowMs }
      } catch (error) {
        const broke = brokenBy(error)
        observer.commitBroke(broke.code, clock.now() - startMs)
        return broke
      }
    })
  }

  /** The input that a log error means; any other error is ours and goes on up. */
  const brokenBy = (error: unknown): Extract<Input, { type: 'broke' }> => {
    const nowMs = clock.now()
    if (isBridgeError(error, 'log_fenced')) return { type: 'broke', code: 'fenced', nowMs }
    if (!isLogOutage(error)) throw error
    logger.error('log.unavailable', { error })
    return { type: 'broke', code: 'unknown', nowMs }
  }

  const release = (): void => {
    cancelWake()
    const leaving = writer
    writer = null
    stretch.abort()
    leaderSinceMs = null
    observer.leads(false)
    stepDown(leaving).then(done.resolve, done.reject)
  }

  /** The writer first: who leads next finds nothing under way. */
  const stepDown = async (leaving: Writer | null): Promise<void> => {
    await leaving?.release()
    await term?.end()
  }

  const rememberRejected = (hash: string): void => {
    rejected.add(hash)
    const [oldest] = rejected
    if (rejected.size > REJECTED_KEPT && oldest !== undefined) rejected.delete(oldest)
  }

  return {
    async run(signal) {
      const stop = (): void => feed({ type: 'stopped', nowMs: clock.now() })
      signal.addEventListener('abort', stop, { once: true })
      feed({ type: 'started', nowMs: clock.now() })
      if (signal.aborted) stop()
      try {
        await done.promise
      } finally {
        cancelWake()
        request.abort()
        stretch.abort()
        signal.removeEventListener('abort', stop)
      }
    },
    pass,
    get state() {
      return state
    },
    get leaderSinceMs() {
      return leaderSinceMs
    },
  }
}
