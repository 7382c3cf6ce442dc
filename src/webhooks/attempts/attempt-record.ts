/**
 * Defines, encodes and parses the JSON in which the log's journal keeps webhook delivery attempts.
 */
import { z } from 'zod'
import { attemptOutcomes, shownOutcomeOf } from '../../core/attempt-end.ts'
import { epochOf } from '../../core/cursor.ts'
import { WEEK_MS } from '../../core/durations.ts'
import { attemptPhases } from '../send/attempt-timer.ts'
import type { Attempted } from '../send/delivery.ts'

/** The journal of the log that has them. */
export const ATTEMPTS_JOURNAL = 'attempts'
/** How long an attempt is kept, in the journal and in every index made of it. A whole schedule of tries takes 39 hours. */
export const ATTEMPTS_KEPT_MS = WEEK_MS

/** What became of the delivery. `gone`: the endpoint answered 410, and the delivery waits until it is active again. */
export const attemptResults = ['delivered', 'retry', 'dead', 'gone'] as const
/** One of them. */
export type AttemptResult = (typeof attemptResults)[number]

const count = z.int().min(0)

/** An attempt as JSON: a member that has the usual value is left out. Times are ms since 1970. */
const storedAttempt = z.object({
  endpointId: z.string(),
  sequence: count,
  eventId: z.string(),
  /** The `webhook-id` that was sent; null where a build that did not store it wrote the attempt. */
  webhookId: z.string().nullable().default(null),
  /** From 1; a replay begins anew. */
  attempt: count,
  /** When it began. */
  atMs: count,
  durationMs: count,
  /** Of the answer; null where there was none. */
  status: count.nullable().default(null),
  outcome: z.enum(attemptOutcomes).default('ok'),
  /** Where it was when it ended. */
  phase: z.enum(attemptPhases).default('body'),
  result: z.enum(attemptResults).default('delivered'),
  /** When the next one is due; null unless `result` is `retry`. */
  dueMs: count.nullable().default(null),
  /** The first 1 KB of a failure's body; null where there is none. */
  response: z.string().nullable().default(null),
})

type StoredAttempt = z.input<typeof storedAttempt>

/** One attempt. `epoch`: of the log in which `sequence` counts. */
export type AttemptRecord = z.output<typeof storedAttempt> & { epoch: string }

/** One record of the journal: attempts at events of one epoch, in the order in which they ended. */
export interface AttemptPage {
  epoch: string
  attempts: readonly StoredAttempt[]
}

/** A page whose attempts are not read yet. */
const anyPage = z.object({ epoch: z.string(), attempts: z.array(z.unknown()) })

/** What is kept of an attempt that ended at `nowMs`. */
export function attemptRecord(
  { endpoint, delivery, webhookId, attempt, end, report, verdict }: Attempted,
  nowMs: number,
): AttemptRecord {
  const { sequence, eventId, cursor } = delivery
  const { startedMs, durationMs, phase, response } = report
  const outcome = shownOutcomeOf(end)
  return {
    endpointId: endpoint.id,
    epoch: epochOf(cursor),
    sequence,
    eventId,
    webhookId,
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

function storedForm(record: AttemptRecord): StoredAttempt {
  const { epoch: _, webhookId, status, outcome, phase, result, dueMs, response, ...rest } = record
  return {
    ...rest,
    ...(webhookId !== null && { webhookId }),
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
  const page = anyPage.safeParse(value).data
  if (page === undefined) return { attempts: [], unreadable: 1 }
  const { epoch } = page
  const attempts = page.attempts.flatMap((stored) => {
    const { data } = storedAttempt.safeParse(stored)
    return data === undefined ? [] : { ...data, epoch }
  })
  return { attempts, unreadable: page.attempts.length - attempts.length }
}
