/** Defines the JSON in which attempts are kept in the log's journal, makes it and reads it back. */
import { type AttemptOutcome, attemptOutcomes } from '../../obs/metrics.ts'
import { type AttemptPhase, attemptPhases } from '../send/attempt-timer.ts'
import type { Attempted } from '../send/delivery.ts'

/** The journal of the log that has them. */
export const ATTEMPTS_JOURNAL = 'attempts'
/** How long an attempt is kept, in the journal and in every index made of it. A whole schedule of tries takes 39 hours. */
export const ATTEMPTS_KEPT_MS = 7 * 24 * 3_600_000

/** What became of the delivery. `gone`: the endpoint answered 410, and the delivery waits until it is active again. */
export const attemptResults = ['delivered', 'retry', 'dead', 'gone'] as const
/** One of them. */
export type AttemptResult = (typeof attemptResults)[number]

/** One attempt. */
export interface AttemptRecord {
  endpointId: string
  /** Of the log in which `sequence` counts. */
  epoch: string
  sequence: number
  eventId: string
  /** From 1; a replay begins anew. */
  attempt: number
  /** When it began, ms since 1970. */
  atMs: number
  durationMs: number
  /** Of the answer; null where there was none. */
  status: number | null
  outcome: AttemptOutcome
  /** Where it was when it ended. */
  phase: AttemptPhase
  result: AttemptResult
  /** When the next one is due, ms since 1970; null unless `result` is `retry`. */
  dueMs: number | null
  /** The first 1 KB of a failure's body; null where there is none. */
  response: string | null
}

/** An attempt as JSON: what it shares with most others, and with its page, is left out. */
interface Stored
  extends Pick<AttemptRecord, 'endpointId' | 'sequence' | 'eventId' | 'attempt' | 'atMs' | 'durationMs'> {
  status?: number
  /** Absent: `ok`. */
  outcome?: AttemptOutcome
  /** Absent: `body`. */
  phase?: AttemptPhase
  /** Absent: `delivered`. */
  result?: AttemptResult
  dueMs?: number
  response?: string
}

/** One record of the journal: attempts at events of one epoch, in the order in which they ended. */
export interface AttemptPage {
  epoch: string
  attempts: readonly Stored[]
}

/** What is kept of an attempt that ended at `nowMs`. `outcome` is that of its end, `epoch` that of its delivery's cursor. */
export function attemptRecord(
  { endpoint, delivery, attempt, end, report, verdict }: Attempted,
  { outcome, epoch, nowMs }: { outcome: AttemptOutcome; epoch: string; nowMs: number },
): AttemptRecord {
  const { sequence, eventId } = delivery
  const { startedMs, durationMs, phase, response } = report
  return {
    endpointId: endpoint.id,
    epoch,
    sequence,
    eventId,
    attempt,
    atMs: startedMs,
    durationMs,
    status: end.kind === 'answered' ? end.status : null,
    outcome,
    phase,
    result: verdict.next === 'disable' ? 'gone' : verdict.next,
    dueMs: verdict.next === 'retry' ? nowMs + verdict.delayMs : null,
    response: outcome === 'ok' ? null : response,
  }
}

/** These attempts as a page. They are of one epoch. */
export function attemptPage(epoch: string, attempts: readonly AttemptRecord[]): AttemptPage {
  return { epoch, attempts: attempts.map(storedForm) }
}

function storedForm(record: AttemptRecord): Stored {
  const { endpointId, sequence, eventId, attempt, atMs, durationMs } = record
  const { status, outcome, phase, result, dueMs, response } = record
  return {
    endpointId,
    sequence,
    eventId,
    attempt,
    atMs,
    durationMs,
    ...(status !== null && { status }),
    ...(outcome !== 'ok' && { outcome }),
    ...(phase !== 'body' && { phase }),
    ...(result !== 'delivered' && { result }),
    ...(dueMs !== null && { dueMs }),
    ...(response !== null && { response }),
  }
}

/** The attempts of a page, and how much of it has no form that this version knows. */
export function readAttemptPage(value: unknown): { attempts: AttemptRecord[]; unreadable: number } {
  if (!isRecord(value) || typeof value.epoch !== 'string' || !Array.isArray(value.attempts)) {
    return { attempts: [], unreadable: 1 }
  }
  const attempts: AttemptRecord[] = []
  for (const stored of value.attempts) {
    const record = readStored(value.epoch, stored)
    if (record !== null) attempts.push(record)
  }
  return { attempts, unreadable: value.attempts.length - attempts.length }
}

function readStored(epoch: string, value: unknown): AttemptRecord | null {
  if (!isRecord(value)) return null
  const { endpointId, sequence, eventId, attempt, atMs, durationMs } = value
  const { status = null, outcome = 'ok', phase = 'body', result = 'delivered' } = value
  const { dueMs = null, response = null } = value
  const isAttempt =
    typeof endpointId === 'string' &&
    isCount(sequence) &&
    typeof eventId === 'string' &&
    isCount(attempt) &&
    isCount(atMs) &&
    isCount(durationMs) &&
    (status === null || isCount(status)) &&
    isOneOf(outcome, attemptOutcomes) &&
    isOneOf(phase, attemptPhases) &&
    isOneOf(result, attemptResults) &&
    (dueMs === null || isCount(dueMs)) &&
    (response === null || typeof response === 'string')
  if (!isAttempt) return null
  return {
    endpointId,
    epoch,
    sequence,
    eventId,
    attempt,
    atMs,
    durationMs,
    status,
    outcome,
    phase,
    result,
    dueMs,
    response,
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isOneOf<W extends string>(value: unknown, words: readonly W[]): value is W {
  return words.some((word) => word === value)
}
