/**
 * Runs the poller's state machine: performs its actions (election, take-over of the log, request, commit, wait) and feeds
 * their results back as inputs. The decisions are made in `machine/step.ts`.
 */
import type { Replicator } from '../../archive/replica/replicator.ts'
import type { Archive } from '../../archive/store/archive.ts'
import type { Purpose } from '../../core/purpose.ts'
import { isBridgeError, isLogOutage } from '../../errors.ts'
import type { TokenBucket } from '../../governor/quota/token-bucket.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep, yieldToEventLoop } from '../../lifecycle/clock.ts'
import { rejectedHash, type Term } from '../../log/events.ts'
import type { Log } from '../../log/log.ts'
import type { Logger } from '../../obs/logger.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import type { FundCall, FundOutcome } from '../../upstream/fund-client.ts'
import type { UpstreamListQuery } from '../../upstream/list-parameters.ts'
import { orderRefusal } from '../machine/orders.ts'
import { skewsMs } from '../machine/present.ts'
import type {
  IngestConfig,
  IngestState,
  Input,
  Order,
  OrderRefusal,
  PageOutcome,
  PollerAction,
  QueuedCommit,
  ReadPage,
} from '../machine/state.ts'
import { initialState } from '../machine/state.ts'
import { step } from '../machine/step.ts'
import type { Head } from '../writer-state/head.ts'
import { PollerWriter } from '../writer-state/poller-writer.ts'
import { type AnsweredPage, comparePage } from './compare-page.ts'
import type { Observer } from './ingest-metrics.ts'
import { NotYetReplicated } from './not-yet-replicated.ts'
import { REJECTED_KEPT, RejectedTexts } from './rejected-texts.ts'
import { requestJourney } from './request-journey.ts'
import { createSendPermit } from './send-permit.ts'

/** What the poller is built from. */
export interface PollerParts {
  log: Log
  /** This node's replica of the log, and what fills it. */
  archive: Pick<Archive, 'oldest' | 'latest' | 'oldestRecordedMs' | 'known'>
  replicator: Pick<Replicator, 'caughtUp' | 'replica'>
  client: UpstreamClient
  bucket: TokenBucket
  config: IngestConfig
  clock: Clock
  logger: Logger
  observer: Observer
}

/** Pause between two claims while the log is unavailable. */
const CLAIM_RETRY_MS = 1000

/** The poller of one process; it does nothing before `run`. */
export class Poller {
  readonly #parts: PollerParts
  #state = initialState()
  #leaderSinceMs: number | null = null
  #term: Term | null = null
  /** The only writer of this process. */
  #writer: PollerWriter | null = null
  /** The last one that was fenced. */
  #fenced: PollerWriter | null = null
  #request = new AbortController()
  /** Replaced with every campaign and claim; results of work that began under an earlier one are dropped. */
  #scope = new AbortController()
  #cancelWake = (): void => {}
  readonly #rejected = new RejectedTexts()
  readonly #notYetReplicated: NotYetReplicated
  /** The head that the present writer found when it claimed. */
  #claimed: Readonly<Head> = this.#state.head
  /** Settles when `run` ends. */
  readonly #done = Promise.withResolvers<void>()

  constructor(parts: PollerParts) {
    this.#parts = parts
    this.#notYetReplicated = new NotYetReplicated(parts.archive)
  }

  /** The state of the machine after its last step. */
  get state(): IngestState {
    return this.#state
  }

  /** When this process became the leader, ms since 1970; null while it does not lead. */
  get leaderSinceMs(): number | null {
    return this.#leaderSinceMs
  }

  /**
   * Runs until the signal aborts, then releases the log.
   * @throws BridgeError when the process must stop: a damaged log
   */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#feed({ type: 'stopped', nowMs: this.#nowMs() })
    signal.addEventListener('abort', stop, { once: true })
    this.#feed({ type: 'started', nowMs: this.#nowMs() })
    if (signal.aborted) stop()
    try {
      await this.#done.promise
    } finally {
      this.#cancelWake()
      this.#request.abort()
      this.#scope.abort()
      signal.removeEventListener('abort', stop)
    }
  }

  /** Pauses polling since that time, ms since 1970, or resumes it (null). What has begun is finished. */
  setPause(sinceMs: number | null): void {
    if (sinceMs === this.#state.pausedSinceMs) return
    this.#feed({ type: 'pause_set', sinceMs, nowMs: this.#nowMs() })
  }

  /** Carries out an order. Returns why it is refused, else null. Means nothing where this process does not lead. */
  order(order: Order): OrderRefusal | null {
    const nowMs = this.#nowMs()
    const refusal = orderRefusal({ state: this.#state, config: this.#parts.config, nowMs }, order)
    if (refusal === null) this.#feed({ type: 'ordered', order, nowMs })
    return refusal
  }

  /** Gives up the lead and campaigns again a little later. Nothing where this process does not lead. */
  stepDown(): void {
    this.#feed({ type: 'step_down_ordered', nowMs: this.#nowMs() })
  }

  /**
   * Sends a request of another part of the process with the poller's writer and throttle, and lets the machine react to its
   * outcome. Null while polling is paused, and where this process does not lead, or no longer leads when the answer arrives.
   */
  async proxy(send: (call: FundCall) => Promise<FundOutcome>): Promise<FundOutcome | null> {
    const { signal } = this.#scope
    const writer = this.#writer
    if (writer === null || signal.aborted || this.#state.pausedSinceMs !== null) return null
    const permit = this.#permit(writer, signal)
    try {
      const outcome = await send({ permit, signal })
      if (signal.aborted) return null
      const { spentMs } = permit
      this.#feed({ type: 'proxied', outcome, spentMs, ledger: writer.state.ledger, nowMs: this.#nowMs() })
      return outcome
    } catch (error) {
      if (!signal.aborted) this.#feed(this.#brokenBy(error, writer))
      return null
    }
  }

  #nowMs(): number {
    return this.#parts.clock.now()
  }

  #feed(input: Input): void {
    try {
      const { state, actions } = step(this.#state, input, this.#parts.config)
      this.#state = state
      for (const action of actions) this.#perform(action)
      this.#parts.observer.stateChanged(this.#state, this.#nowMs())
    } catch (error) {
      this.#done.reject(error)
    }
  }

  #perform(action: PollerAction): void {
    switch (action.type) {
      case 'campaign':
        return this.#campaign(action.waitMs ?? 0)
      case 'claim':
        return this.#claim()
      case 'await-replica':
        return this.#awaitReplica(action.sequence)
      case 'wake':
        return this.#wakeAt(action.atMs)
      case 'request':
        return this.#send(action.purpose, action.query)
      case 'commit':
        return this.#commit(action.queued)
      case 'abandon':
        return this.#request.abort()
      case 'release':
        return this.#release()
      case 'tally':
        return this.#parts.observer.requestDone(action.purpose, action.result, action.cause)
      case 'report':
        return this.#parts.logger[action.level](action.event, action.fields)
    }
  }

  #newScope(): AbortSignal {
    this.#scope.abort()
    this.#scope = new AbortController()
    this.#notYetReplicated.clear()
    return this.#scope.signal
  }

  /** Runs `work` and feeds its input to the machine. A fault ends the process. Both are dropped once the signal has aborted. */
  #start(signal: AbortSignal, work: () => Promise<Input | null>): void {
    work().then(
      (input) => {
        if (input !== null && !signal.aborted) this.#feed(input)
      },
      (error) => {
        if (!signal.aborted) this.#done.reject(error)
      },
    )
  }

  #wakeAt(atMs: number): void {
    this.#cancelWake()
    const wake = (): void => this.#feed({ type: 'woke', nowMs: this.#nowMs() })
    this.#cancelWake = this.#parts.clock.after(atMs - this.#nowMs(), wake)
  }

  #setLeader(sinceMs: number | null): void {
    this.#leaderSinceMs = sinceMs
    this.#parts.observer.leads(sinceMs)
  }

  #campaign(waitMs: number): void {
    const signal = this.#newScope()
    // When the term was lost, its writer may still finish a commit; a fenced writer has already ended.
    void this.#writer?.release()
    this.#writer = null
    const previous = this.#term
    this.#term = null
    this.#setLeader(null)
    this.#start(signal, async () => {
      // A fenced process may still hold its term: without ending it, it would win again and fence the rightful leader.
      await previous?.end()
      await sleep(this.#parts.clock, waitMs, signal)
      signal.throwIfAborted()
      const term = await this.#winTerm(signal)
      this.#term = term
      term.lost.addEventListener('abort', () => {
        if (this.#term === term) this.#feed({ type: 'lost', nowMs: this.#nowMs() })
      })
      this.#setLeader(this.#nowMs())
      return { type: 'elected', nowMs: this.#nowMs() }
    })
  }

  async #winTerm(signal: AbortSignal): Promise<Term> {
    for (;;) {
      const term = await this.#parts.log.campaign(signal, this.#parts.replicator.replica)
      if (!term.lost.aborted) return term
    }
  }

  #claim(): void {
    const signal = this.#newScope()
    const term = this.#term
    if (term === null) throw new Error('the poller cannot claim the log: it does not lead')
    const sinceMs = this.#nowMs()
    this.#start(signal, async () => {
      for (let attempt = 1; ; attempt++) {
        const input = await this.#tryClaim(term, signal, attempt)
        if (input !== 'retry') return input === null || attempt === 1 ? input : { ...input, sinceMs }
        await sleep(this.#parts.clock, CLAIM_RETRY_MS, signal)
      }
    })
  }

  async #tryClaim(term: Term, signal: AbortSignal, attempt: number): Promise<Input | null | 'retry'> {
    const { log, bucket, logger } = this.#parts
    let writer: PollerWriter | null = null
    try {
      writer = new PollerWriter(await log.claim(term, signal))
      this.#writer = writer
      for (const hash of await log.rejectedHashes(REJECTED_KEPT)) this.#rejected.remember(hash)
      signal.throwIfAborted()
      this.#claimed = writer.state.head
      bucket.drain(this.#nowMs())
      if (attempt > 1) logger.info('log.available', { log: log.kind, attempts: attempt })
      return { type: 'claimed', writer: writer.state, nowMs: this.#nowMs() }
    } catch (error) {
      // A later scope may already have its own writer.
      if (this.#writer === writer) this.#writer = null
      await writer?.release()
      if (signal.aborted) return null
      if (isBridgeError(error, 'log_fenced')) return this.#brokenBy(error, writer)
      if (!isLogOutage(error)) throw error
      if (attempt === 1) this.#reportUnavailable('claim', error)
      return 'retry'
    }
  }

  #awaitReplica(sequence: number): void {
    const { signal } = this.#scope
    this.#start(signal, async () => {
      await this.#parts.replicator.caughtUp(sequence, this.#state.head.epoch, signal)
      return { type: 'replicated', nowMs: this.#nowMs() }
    })
  }

  #permit(writer: PollerWriter, signal: AbortSignal): ReturnType<typeof createSendPermit> {
    const { bucket, clock } = this.#parts
    return createSendPermit({ writer, bucket, clock, signal })
  }

  #send(purpose: Purpose, query: UpstreamListQuery): void {
    const writer = this.#writer
    if (writer === null) throw new Error('the poller cannot send a request: it has no writer')
    this.#request = new AbortController()
    const { signal } = this.#request
    const permit = this.#permit(writer, signal)
    const { observer } = this.#parts
    const scope = this.#scope.signal
    this.#start(AbortSignal.any([signal, scope]), async () => {
      try {
        const outcome = await this.#parts.client.list(query, purpose, permit, signal)
        if (signal.aborted && !scope.aborted && !outcome.sent) {
          const { ledger } = writer.state
          this.#feed({ type: 'unsent', purpose, spentMs: permit.spentMs, ledger, nowMs: this.#nowMs() })
        }
        const nowMs = this.#nowMs()
        const journey = requestJourney(this.#state, purpose, outcome, nowMs, observer.trace())
        const answer: PageOutcome =
          outcome.kind === 'ok'
            ? { ...outcome, value: await this.#compared({ page: outcome.value, query, nowMs, journey }) }
            : outcome
        observer.answered(answer)
        const { ledger } = writer.state
        return { type: 'answered', answer, spentMs: permit.spentMs, ledger, nowMs: this.#nowMs() }
      } catch (error) {
        return this.#brokenBy(error, writer)
      }
    })
  }

  #compared(answered: AnsweredPage): Promise<ReadPage> {
    const known = { rejected: this.#rejected, notYetReplicated: this.#notYetReplicated }
    return comparePage({ ...this.#parts, ...known, claimed: this.#claimed }, answered)
  }

  #commit(queued: QueuedCommit): void {
    const { observer } = this.#parts
    const writer = this.#writer
    if (writer === null) throw new Error('the poller cannot commit: it has no writer')
    this.#start(this.#scope.signal, async () => {
      // What led to the commit, or the commit before it in a chain, has held the event loop already.
      await yieldToEventLoop()
      const startMs = this.#nowMs()
      try {
        const committed = await writer.commit(queued.commit)
        const nowMs = this.#nowMs()
        this.#notYetReplicated.remember(committed)
        for (const item of queued.commit.rejected ?? []) this.#rejected.remember(rejectedHash(item.raw))
        observer.committed(queued, committed, { startMs, nowMs, skewMs: skewsMs(this.#state)[0] })
        return { type: 'committed', writer: writer.state, nowMs }
      } catch (error) {
        const broke = this.#brokenBy(error, writer)
        observer.commitBroke(broke.code, queued, this.#nowMs() - startMs)
        return { ...broke, sinceMs: startMs }
      }
    })
  }

  /**
   * The input for an error of this writer, null before there is one. A writer that is fenced is counted once.
   * @throws any other error
   */
  #brokenBy(error: unknown, writer: PollerWriter | null): Extract<Input, { type: 'broke' }> {
    const nowMs = this.#nowMs()
    if (isBridgeError(error, 'log_fenced')) {
      if (writer === null || writer !== this.#fenced) this.#parts.observer.fenced()
      this.#fenced = writer
      return { type: 'broke', code: 'fenced', nowMs }
    }
    if (!isLogOutage(error)) throw error
    this.#reportUnavailable('write', error)
    return { type: 'broke', code: 'unknown', nowMs }
  }

  /** `outcome`: `unknown` where what was written may or may not be durable. */
  #reportUnavailable(operation: 'claim' | 'write', error: unknown): void {
    const { log, logger } = this.#parts
    const outcome = isBridgeError(error, 'log_unknown') ? 'unknown' : 'unavailable'
    logger.error('log.unavailable', { log: log.kind, operation, outcome, error })
  }

  #release(): void {
    this.#cancelWake()
    const writer = this.#writer
    this.#writer = null
    this.#scope.abort()
    this.#setLeader(null)
    this.#stepDown(writer).then(this.#done.resolve, this.#done.reject)
  }

  /** Releases the writer before the term, so that the next leader finds no commit in flight. */
  async #stepDown(writer: PollerWriter | null): Promise<void> {
    await writer?.release()
    await this.#term?.end()
  }
}
