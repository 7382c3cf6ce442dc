/**
 * Logs bad states that last: one `error` with a hint once a state has lasted long enough, and one `info` when it is over.
 */
import { isoMillis } from '../core/dates.ts'
import { MINUTE_MS } from '../core/durations.ts'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import type { Logger } from './logger.ts'

/**
 * A state that lasts so long needs a person. Restarts of a broker, a change of the leader and a short outage of upstream are
 * over sooner.
 */
const LASTING_MS = 5 * MINUTE_MS
/** Between two looks at the states, ms. */
const LOOK_MS = 5000

/** Every bad state, after how long it is logged, and what to do about it. `docs/log-events.md` lists them. */
export const lastingFaults = {
  key_refused: {
    afterMs: 0,
    hint: 'Put a valid key into the file of BRIDGE_UPSTREAM_KEY_FILE, which is read again and tried at once, or into BRIDGE_UPSTREAM_KEY, and restart the pollers; `bridge doctor` checks it. Nothing is polled but a try now and then.',
  },
  upstream_unavailable: {
    afterMs: LASTING_MS,
    hint: '`upstream.request_failed` before this line says how requests fail; `bridge doctor` tells host, certificate and timeout apart. If upstream itself is down, wait: polls go on by themselves.',
  },
  upstream_throttled: {
    afterMs: LASTING_MS,
    hint: 'Look whether another program uses the key, and whether BRIDGE_UPSTREAM_PLAN, BRIDGE_UPSTREAM_RATE and BRIDGE_UPSTREAM_BURST fit it. Polls go on by themselves once upstream answers.',
  },
  quota_spent: {
    afterMs: LASTING_MS,
    hint: '`bridge status` says when units come back; polls go on then. Look whether another program uses the key, and whether BRIDGE_UPSTREAM_WEEKLY_QUOTA is that of the plan.',
  },
  kafka_unavailable: {
    afterMs: LASTING_MS,
    hint: 'Check that the brokers of BRIDGE_KAFKA_BROKERS run and that this node reaches them: `bridge doctor`. Nothing is lost: polls and deliveries go on once Kafka answers.',
  },
  log_not_writable: {
    afterMs: LASTING_MS,
    hint: '`log.unavailable` before this line has the error. On the embedded log: look for room and permission on the volume of BRIDGE_DATA_DIR. On Kafka: look at the health of the brokers. Nothing is polled until the log can be written.',
  },
  copy_behind: {
    afterMs: LASTING_MS,
    hint: 'Readers of this node get events late. Look at the load of this node, at its disk and at its way to Kafka.',
  },
  tables_unread: {
    afterMs: LASTING_MS,
    hint: 'Tokens or endpoints have not been read from the log, so requests are refused. Look at the warnings before this line; restart the process if the log itself is well.',
  },
  webhook_state_stuck: {
    afterMs: LASTING_MS,
    hint: '`webhook.shards_stuck` before this line has the error. Look for room on the volume of BRIDGE_DATA_DIR, or at the health of Kafka. The endpoints of these shards get nothing until it is mended.',
  },
} as const

/** The name of a bad state. */
export type FaultName = keyof typeof lastingFaults

/**
 * How an area of the process stands, e.g. the upstream. `unknown` leaves what was known; `fine` ends a fault, with a reason
 * where that is not the mending of it.
 */
export type Standing =
  | { is: 'fine'; reason?: string }
  | { is: 'unknown' }
  | { is: 'bad'; what: FaultName; reason?: string }

interface Period {
  sinceMs: number
  /** What was logged of this period. */
  logged: FaultName[]
}

/**
 * Returns a function that takes how an area stands, as often as one likes. Each state is logged once in a bad period of its
 * area, counted from the begin of the period: an upstream that fails in several ways lasts as one.
 */
export function createFaultLog({
  clock,
  logger,
}: {
  clock: Clock
  logger: Logger
}): (area: string, standing: Standing) => void {
  const periods = new Map<string, Period>()
  return (area, standing) => {
    if (standing.is === 'unknown') return
    const nowMs = clock.now()
    const period = periods.get(area) ?? { sinceMs: nowMs, logged: [] }
    const { sinceMs, logged } = period
    const timesOf = { since: isoMillis(sinceMs), durationMs: nowMs - sinceMs }
    const { reason } = standing
    if (standing.is === 'fine') {
      periods.delete(area)
      for (const what of logged) logger.info('fault.over', { what, reason, ...timesOf })
      return
    }
    periods.set(area, period)
    const { what } = standing
    const { afterMs, hint } = lastingFaults[what]
    if (logged.includes(what) || nowMs - sinceMs < afterMs) return
    logged.push(what)
    logger.error('fault.lasting', { what, reason, hint, ...timesOf })
  }
}

/** Looks at every area until the signal aborts. */
export async function logLastingFaults(
  parts: { clock: Clock; logger: Logger; areas: Readonly<Record<string, () => Standing>> },
  signal: AbortSignal,
): Promise<void> {
  const take = createFaultLog(parts)
  while (!signal.aborted) {
    for (const [area, look] of Object.entries(parts.areas)) take(area, look())
    await sleep(parts.clock, LOOK_MS, signal)
  }
}
