/**
 * Composes the health of an endpoint from the state of its deliveries, which the node that delivers knows, and from this
 * node's history of attempts.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { decodeCursor } from '../../core/cursor.ts'
import { isoOrNull } from '../../core/dates.ts'
import { DAY_MS, MINUTE_MS } from '../../core/durations.ts'
import { isOptedIn } from '../../core/filter/webhook-opt-in.ts'
import { isBridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Endpoint } from '../../registry/endpoints.ts'
import type { AttemptHistory } from '../attempts/attempt-history.ts'
import type { AttemptFigures } from '../attempts/attempt-store.ts'
import type { DeliveryStanding } from '../delivery-state/endpoint-state.ts'
import { type HealthOf, MOST_UNREAD, PERCENTILE_ATTEMPTS } from '../endpoints/endpoint-health.ts'

/** Most time for counting what an endpoint has not read. */
const UNREAD_BUDGET_MS = 20
/** A new endpoint may be unknown to the processes that deliver for so long: it stands at its start. */
const NEW_MS = MINUTE_MS

/** What it is composed from. */
export interface HealthSources {
  /** How its deliveries stand; null where no node that delivers has said. */
  standingOf: (endpoint: Pick<Endpoint, 'id' | 'createdAtMs'>) => DeliveryStanding | null
  history: Pick<AttemptHistory, 'figures'>
  reader: Pick<Reader, 'epoch' | 'latest' | 'read'>
  clock: Clock
}

/** Unread events of an endpoint. */
interface Unread {
  count: number
  oldestMs: number | null
}

/** The health of endpoints as this node knows it. */
export function createHealthOf({ standingOf, history, reader, clock }: HealthSources): HealthOf {
  /** Matching events after that sequence, up to `MOST_UNREAD`. */
  const unreadAfter = async ({ tenant, filter }: Endpoint, after: number): Promise<Unread> => {
    const signal = new AbortController().signal
    const budgetMs = UNREAD_BUDGET_MS
    const { events } = await reader.read({
      after,
      filter,
      limit: MOST_UNREAD,
      budgetMs,
      signal,
      caller: tenant,
    })
    const wanted = events.filter(({ facts }) => isOptedIn(filter, facts))
    // Items of a filled page are not recorded in the order of the log.
    const oldestMs = wanted.length === 0 ? null : Math.min(...wanted.map(({ recordedMs }) => recordedMs))
    return { count: wanted.length, oldestMs }
  }
  const figuresOf = (id: string): AttemptFigures => {
    try {
      return history.figures(id, clock.now() - DAY_MS, PERCENTILE_ATTEMPTS)
    } catch (error) {
      if (!isBridgeError(error, 'log_unavailable')) throw error
      return { lastSuccessMs: null, durationsMs: [] }
    }
  }
  return async (endpoint, untilMs) => {
    const { lastSuccessMs, durationsMs } = figuresOf(endpoint.id)
    const standing = standingOf(endpoint) ?? newStanding(endpoint, reader.epoch, clock.now())
    const mayRead = clock.now() < untilMs
    const after = standing?.unreadAfter ?? null
    const unread =
      after === null || after >= reader.latest || !mayRead
        ? { count: 0, oldestMs: null }
        : await unreadAfter(endpoint, after)
    return {
      pending: standing === null ? null : standing.pending + unread.count,
      oldestPending: isoOrNull(earlier(standing?.oldestMs ?? null, unread.oldestMs)),
      dead: standing?.dead ?? null,
      forgotten: standing?.forgotten ?? null,
      lastSuccess: isoOrNull(lastSuccessMs),
      failingSince: isoOrNull(standing?.failingSinceMs ?? null),
      p50Ms: percentile(durationsMs, 0.5),
      p95Ms: percentile(durationsMs, 0.95),
    }
  }
}

/** How a new endpoint stands that no process has begun to deliver to; null for others. */
export function newStanding(
  { start, createdAtMs }: Pick<Endpoint, 'start' | 'createdAtMs'>,
  epoch: string | null,
  nowMs: number,
): DeliveryStanding | null {
  const cursor = decodeCursor(start)
  if (Math.abs(nowMs - createdAtMs) > NEW_MS || cursor.epoch !== epoch) return null
  return {
    pending: 0,
    oldestMs: null,
    dead: 0,
    forgotten: 0,
    failingSinceMs: null,
    unreadAfter: cursor.sequence,
  }
}

/** The nearest rank: the smallest value that so large a share of all do not exceed. */
function percentile(values: readonly number[], share: number): number | null {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.ceil(share * sorted.length) - 1] ?? null
}

function earlier(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other)
}
