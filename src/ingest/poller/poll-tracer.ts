/**
 * Records the traces of polls: a poll with its request, the scan that fills it, and the commits of what they brought. A scan
 * of its own, such as a re-scan, is a trace of its own.
 */
import { SECOND_MS } from '../../core/durations.ts'
import { isGap } from '../../core/event.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { OpenSpan, SpanAttributes, Tracing } from '../../obs/tracing.ts'
import { isPoll } from '../machine/jobs.ts'
import type { IngestState, PageOutcome, PageScan, QueuedCommit } from '../machine/state.ts'
import type { Observer } from './ingest-metrics.ts'

/** The code of a span whose work was given up: a request abandoned, a leadership lost. */
const INTERRUPTED = 'interrupted'

/** A poll or a scan; it ends when its own work is over and nothing of it is still under way. */
class Work {
  readonly span: OpenSpan
  /** Pages that a scan has read so far, and items that its commits have published. */
  pages = 0
  published = 0
  readonly #isScan: boolean
  readonly #onEnd: () => void
  #under = 1
  #isOver = false

  constructor(span: OpenSpan, isScan: boolean, onEnd: () => void) {
    this.span = span
    this.#isScan = isScan
    this.#onEnd = onEnd
  }

  /** Something more of it is under way: a commit, or the scan that fills a poll. */
  hold(): void {
    this.#under += 1
  }

  /** One thing of it is over: its own work, or what was held. */
  release(nowMs: number, failure?: string): void {
    this.#under -= 1
    if (this.#under <= 0 || failure !== undefined) this.end(nowMs, failure)
  }

  end(nowMs: number, failure?: string): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#isScan) this.span.set({ pages: this.pages, published: this.published })
    this.span.end(nowMs, failure)
    this.#onEnd()
  }
}

/** Observes one poller. Null in the place of a work: it is not sampled. */
export class PollTracer {
  readonly #tracing: Tracing
  readonly #clock: Clock
  readonly #open = new Set<Work>()
  /** By `keyOf`. A fill belongs to its poll. */
  readonly #scans = new Map<string, { work: Work | null; poll: Work | null }>()
  readonly #ofCommit = new WeakMap<QueuedCommit, Work | null>()
  /** To which the request in flight belongs, and the request that was answered in this step. */
  #asking: Work | null = null
  #answered: Work | null = null
  #hasAnswered = false
  /** The poll that was answered last: a fill that begins is of this one. */
  #poll: Work | null = null
  #answer: PageOutcome | null = null
  #state: IngestState | null = null

  constructor(tracing: Tracing, clock: Clock) {
    this.#tracing = tracing
    this.#clock = clock
  }

  /** An observer that forwards to the given one and records spans. */
  observing(observer: Observer): Observer {
    return {
      ...observer,
      trace: () => this.#asking?.span.trace ?? null,
      answered: (answer) => {
        observer.answered(answer)
        this.#answer = answer
      },
      requestDone: (purpose, result, cause) => {
        observer.requestDone(purpose, result, cause)
        if (purpose !== 'gateway') this.#requestDone(isPoll(purpose), { purpose, result, cause })
      },
      committed: (queued, events, times) => {
        observer.committed(queued, events, times)
        const { startMs, nowMs } = times
        const [first, last] = [events[0]?.sequence, events.at(-1)?.sequence]
        const attributes = { events: events.length, 'sequence.first': first, 'sequence.last': last }
        const published = events.filter(({ type }) => !isGap(type)).length
        this.#committed(queued, { startMs, nowMs, attributes, published })
      },
      commitBroke: (code, queued, durationMs) => {
        observer.commitBroke(code, queued, durationMs)
        const nowMs = this.#clock.now()
        const times = { startMs: nowMs - durationMs, nowMs, attributes: {} }
        this.#committed(queued, { ...times, failure: code })
        this.#giveUp(nowMs)
      },
      leads: (sinceMs) => {
        observer.leads(sinceMs)
        if (sinceMs === null) this.#giveUp(this.#clock.now())
      },
      stateChanged: (state, nowMs) => {
        observer.stateChanged(state, nowMs)
        this.#stateChanged(state, nowMs)
      },
    }
  }

  #begun(span: OpenSpan | null, isScan: boolean): Work | null {
    if (span === null) return null
    const work = new Work(span, isScan, () => this.#open.delete(work))
    this.#open.add(work)
    return work
  }

  #giveUp(nowMs: number): void {
    for (const work of [...this.#open]) work.end(nowMs, INTERRUPTED)
    this.#scans.clear()
    this.#asking = null
    this.#poll = null
  }

  #requestDone(isOfPoll: boolean, attributes: SpanAttributes & { result: string }): void {
    const work = this.#asking
    const answer = this.#answer
    this.#answered = work
    this.#hasAnswered = true
    if (isOfPoll) this.#poll = work
    if (work === null || answer === null) return
    const told = { ...attributes, ...aboutAnswer(answer) }
    const { startedMs, endedMs } = answer
    const request = work.span.child('request', { startMs: startedMs, kind: 'client', attributes: told })
    request.end(endedMs, answer.kind === 'ok' ? undefined : attributes.result)
    if (isOfPoll) work.span.set(told)
    else if (answer.kind === 'ok') work.pages += 1
  }

  #committed(
    queued: QueuedCommit,
    {
      startMs,
      nowMs,
      attributes,
      published = 0,
      failure,
    }: {
      startMs: number
      nowMs: number
      attributes: SpanAttributes
      published?: number
      failure?: string
    },
  ): void {
    const work = this.#ofCommit.get(queued) ?? null
    if (work === null) return
    this.#ofCommit.delete(queued)
    work.published += published
    work.span.child('commit', { startMs, attributes }).end(nowMs, failure)
    work.release(nowMs, failure)
  }

  /** After a step: what it has queued, begun and ended. Whatever holds a work comes before what releases it. */
  #stateChanged(state: IngestState, nowMs: number): void {
    const before = this.#state
    this.#state = state
    const { scan } = state
    this.#beginScans(state)
    const owner = this.#hasAnswered ? this.#answered : this.#workOf(scan)
    if (state.queue !== before?.queue) this.#ownCommits(state.queue, owner)
    this.#endScans(state, nowMs)
    if (state.request === before?.request) return
    this.#requestOver(before, state, nowMs)
    this.#beginRequest(state)
  }

  #workOf(scan: PageScan | null): Work | null {
    return scan === null ? null : (this.#scans.get(keyOf(scan))?.work ?? null)
  }

  #ownCommits(queue: readonly QueuedCommit[], owner: Work | null): void {
    for (const queued of queue) {
      if (this.#ofCommit.has(queued)) continue
      this.#ofCommit.set(queued, owner)
      owner?.hold()
    }
  }

  #beginScans({ scan, scanAside }: IngestState): void {
    for (const one of [scan, scanAside]) {
      if (one === null || this.#scans.has(keyOf(one))) continue
      const poll = one.kind === 'fill' ? this.#poll : null
      // Other scans belong to no gap.
      const cause = one.kind === 'fill' || one.kind === 'gap_retry' ? one.cause : undefined
      const start = { startMs: one.startedMs, attributes: { scan: one.kind, cause } }
      const span =
        one.kind === 'fill' ? (poll?.span.child('scan', start) ?? null) : this.#tracing.begin('scan', start)
      poll?.hold()
      this.#scans.set(keyOf(one), { work: this.#begun(span, true), poll })
    }
  }

  #endScans({ scan, scanAside }: IngestState, nowMs: number): void {
    const present = [scan, scanAside].flatMap((one) => (one === null ? [] : keyOf(one)))
    for (const [key, { work, poll }] of this.#scans) {
      if (present.includes(key)) continue
      this.#scans.delete(key)
      work?.release(nowMs)
      poll?.release(nowMs)
    }
  }

  /** The request of the state before is no longer in flight: it was answered, or abandoned. */
  #requestOver(before: IngestState | null, state: IngestState, nowMs: number): void {
    const request = before?.request ?? null
    const work = this.#asking
    const wasAnswered = this.#hasAnswered
    this.#asking = null
    this.#answered = null
    this.#hasAnswered = false
    this.#answer = null
    if (request === null || work === null || !isPoll(request.purpose)) return
    const isAhead = before?.head.cursor !== state.head.cursor
    work.span.set({ 'cursor.advanced': isAhead, 'plan.next_s': seconds(state.plan.intervalMs) })
    work.release(nowMs, wasAnswered ? undefined : INTERRUPTED)
  }

  #beginRequest({ request, scan, plan }: IngestState): void {
    if (request === null) return
    const { purpose, startedMs } = request
    if (!isPoll(purpose)) {
      this.#asking = this.#workOf(scan)
      return
    }
    const attributes = { 'plan.interval_s': seconds(plan.intervalMs) }
    this.#asking = this.#begun(this.#tracing.begin('poll', { startMs: startedMs, attributes }), false)
  }
}

/** A scan is replaced with every page, and keeps its kind and its begin. */
function keyOf({ kind, startedMs }: PageScan): string {
  return `${kind}@${startedMs}`
}

function aboutAnswer(answer: PageOutcome): SpanAttributes {
  if (answer.kind !== 'ok') return { 'http.response.status_code': statusOf(answer) }
  const { count, fresh, rejected } = answer.value
  return {
    'http.response.status_code': 200,
    items: count,
    'items.new': fresh.length,
    'items.rejected': rejected.length,
  }
}

function statusOf(answer: PageOutcome): number | undefined {
  if (answer.kind === 'too_many') return 429
  return 'status' in answer ? answer.status : undefined
}

function seconds(ms: number): number {
  return ms / SECOND_MS
}
