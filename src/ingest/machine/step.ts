/**
 * The poller's state machine: `step(state, input) → {state, actions}`, pure, with every state × input cell written
 * down. Owns the table. The work inside the cells is in `poll.ts`, `page-scan.ts` and `jobs.ts`; `poller.ts` acts.
 */
import { backoffMs } from '../../core/backoff.ts'
import { situationOf } from './arrival-learning.ts'
import { flushQueue, nextJob } from './jobs.ts'
import { answerWalk, wakeWalk } from './page-scan.ts'
import { answerPoll } from './poll.ts'
import { onProxied } from './proxied-request.ts'
import { compareQuota } from './quota-drift.ts'
import type { Action, IngestConfig, IngestState, Input, InputType, StateName, Turn } from './state.ts'
import { initialState, UNTAUGHT } from './state.ts'

/** Waits after the log did not take a write: a second, doubling up to five minutes. Polls cost units all the same. */
const BROKEN = { baseMs: 1000, factor: 2, maxMs: 5 * 60_000, jitter: 0.1 }
/** Clocks are corrected by less all the time. */
const SMALLEST_STEP_BACK_MS = 1000

type Of<T extends InputType> = Extract<Input, { type: T }>
type Cell<T extends InputType> = (turn: Turn, input: Of<T>) => void
type Row = { [T in InputType]: Cell<T> }

/** It can come too late or twice, and means nothing here. */
const ignore = (): void => {}
/** It cannot happen; if it does, our own code is wrong and the process stops. */
const never = (turn: Turn, input: Input): never => {
  throw new Error(`input "${input.type}" in state "${turn.state.name}"`)
}

const campaign = (turn: Turn): void => {
  const { lastGoodPollMs, skewMs } = turn.state
  turn.state = { ...initialState(), lastGoodPollMs, skewMs }
  turn.actions.push({ type: 'abandon' }, { type: 'campaign' })
}

const claim = (turn: Turn): void => {
  const { head, ledger, lastGoodPollMs, skewMs, upstream, brokenInARow, refusedInARow } = turn.state
  const { blockedUntilMs, failuresInARow, keyRefusalsInARow, failingSinceMs, classifier, retries } =
    turn.state
  const { quotaDrift } = turn.state
  const failures = { failuresInARow, keyRefusalsInARow, failingSinceMs, classifier, retries, quotaDrift }
  const asFarAsKnown = { head, ledger, lastGoodPollMs, skewMs, upstream, brokenInARow, refusedInARow }
  const kept = { ...asFarAsKnown, ...failures, blockedUntilMs }
  turn.state = { ...initialState(), ...kept, name: 'claiming' }
  turn.actions.push({ type: 'abandon' }, { type: 'claim' })
}

const takeOver: Cell<'claimed'> = (turn, { writer }) => {
  const { head, ledger } = writer
  turn.state = { ...turn.state, name: 'catching-up', head, ledger, profile: head.profile ?? UNTAUGHT }
  turn.actions.push({ type: 'await-copy', sequence: writer.head.sequence })
}

/** What came in since the last poll of whoever led before is asked for at once, where the ledger allows it. */
const beginPolling = (turn: Turn): void => {
  const { lastSpendMs } = turn.state.head
  const { pacing } = turn.config
  turn.state.name = 'polling'
  turn.state.nextPollMs = turn.nowMs
  if (lastSpendMs !== null && !pacing.mayPollEarly(situationOf(turn))) {
    const lastMs = Math.min(turn.nowMs, lastSpendMs)
    turn.state.plan = pacing.plan({ ...situationOf(turn), nowMs: lastMs })
    turn.state.nextPollMs = lastMs + turn.state.plan.intervalMs
  }
  goOn(turn)
}

/** The writer is dead; what happened is read by the next claim. A fenced one steps down. */
const breakDown: Cell<'broke'> = (turn, { code }) => {
  if (code === 'fenced') return campaign(turn)
  claim(turn)
  turn.state.brokenInARow += 1
  const waitMs = backoffMs(turn.state.brokenInARow, BROKEN, turn.config.chance)
  turn.state.blockedUntilMs = Math.max(turn.state.blockedUntilMs, turn.nowMs + waitMs)
}

const release = (turn: Turn): void => {
  turn.state.name = 'releasing'
  turn.actions.push({ type: 'abandon' })
  if (!turn.state.committing) turn.actions.push({ type: 'release' })
}

const answer: Cell<'answered'> = (turn, input) => {
  const { request, walk } = turn.state
  if (request === null) return never(turn, input)
  turn.state.ledger = input.ledger
  compareQuota(turn, input.answer)
  if (walk !== null) answerWalk(turn, walk, input.answer, input.spentMs)
  else answerPoll(turn, request.query, input.answer, input.spentMs)
  goOn(turn)
}

/** A proxied request has ended. */
const afterProxied: Cell<'proxied'> = (turn, { outcome, spentMs, ledger }) => {
  turn.state.ledger = ledger
  onProxied(turn, outcome, spentMs)
  goOn(turn)
}

const settle: Cell<'committed'> = (turn, { writer }) => {
  turn.state.queue = turn.state.queue.slice(1)
  turn.state.committing = false
  turn.state.brokenInARow = 0
  turn.state.ledger = writer.ledger
  turn.state.head = { ...turn.state.head, sequence: writer.head.sequence }
  goOn(turn)
}

const wakeUp = (turn: Turn): void => {
  if (turn.state.walk !== null) wakeWalk(turn, turn.state.walk)
  goOn(turn)
}

/** After every change while leading: commits go out; without a request or a walk the next job starts. */
const goOn = (turn: Turn): void => {
  flushQueue(turn)
  if (turn.state.request === null && turn.state.walk === null) nextJob(turn)
  flushQueue(turn)
}

const finishRelease: Cell<'committed'> = (turn) => {
  turn.state.committing = false
  turn.actions.push({ type: 'release' })
}

const idle: Row = {
  started: never,
  elected: ignore,
  claimed: ignore,
  copied: ignore,
  woke: ignore,
  answered: ignore,
  committed: ignore,
  proxied: ignore,
  broke: ignore,
  lost: ignore,
  stopped: release,
}

const leading: Row = {
  started: never,
  elected: never,
  claimed: never,
  copied: ignore,
  woke: wakeUp,
  answered: answer,
  committed: settle,
  proxied: afterProxied,
  broke: breakDown,
  lost: campaign,
  stopped: release,
}

/** Every state × input cell. The four leading states share a row: what differs between them is the walk they hold. */
export const transitions: Record<StateName, Row> = {
  standby: { ...idle, started: campaign, elected: claim },
  claiming: { ...idle, claimed: takeOver, broke: breakDown, lost: campaign },
  'catching-up': { ...idle, copied: beginPolling, broke: breakDown, lost: campaign },
  polling: leading,
  filling: leading,
  sweeping: leading,
  backfilling: leading,
  releasing: {
    ...idle,
    committed: finishRelease,
    broke: (turn) => void turn.actions.push({ type: 'release' }),
    stopped: ignore,
  },
}

/**
 * A copy of the state for this moment. When our clock was set back, every moment that it waits for moves along: an
 * hour's correction must not cost an hour without a poll.
 */
function atTime(state: IngestState, nowMs: number): IngestState {
  const backMs = Math.max(0, state.lastSeenMs - nowMs)
  if (backMs < SMALLEST_STEP_BACK_MS) return { ...state, lastSeenMs: Math.max(state.lastSeenMs, nowMs) }
  const { head, walk } = state
  const { round } = head
  return {
    ...state,
    lastSeenMs: nowMs,
    nextPollMs: state.nextPollMs - backMs,
    blockedUntilMs: state.blockedUntilMs - backMs,
    backfillRetryMs: state.backfillRetryMs - backMs,
    walk: walk === null ? null : { ...walk, startedMs: walk.startedMs - backMs },
    head: {
      ...head,
      openGaps: head.openGaps.map((gap) => ({ ...gap, retryAtMs: gap.retryAtMs - backMs })),
      sweep: head.sweep === null ? null : { ...head.sweep, dueAtMs: head.sweep.dueAtMs - backMs },
      days: head.days.map((day) =>
        day.walk?.state === 'owed' ? { ...day, walk: { ...day.walk, atMs: day.walk.atMs - backMs } } : day,
      ),
      round: round === null || round.dueAtMs === null ? round : { ...round, dueAtMs: round.dueAtMs - backMs },
    },
  }
}

/** The next state and what to do. Pure: the same arguments give the same answer, given the same draws of chance. */
export function step(
  state: IngestState,
  input: Input,
  config: IngestConfig,
): { state: IngestState; actions: Action[] } {
  const turn: Turn = { state: atTime(state, input.nowMs), actions: [], config, nowMs: input.nowMs }
  const cell = transitions[state.name][input.type] as Cell<InputType>
  cell(turn, input)
  return { state: turn.state, actions: turn.actions }
}
