/**
 * Publishes how the deliveries of this node's endpoints stand in a table of the log, and reads what other nodes publish.
 * Any node with the role `api` can thus show it. Deliveries depend on none of this.
 */
import { z } from 'zod'
import { MINUTE_MS, SECOND_MS } from '../../core/durations.ts'
import { isBridgeError } from '../../errors.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import { followTable } from '../../log/follow-table.ts'
import type { Log } from '../../log/log.ts'
import type { Change, Table } from '../../log/tables.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Endpoint } from '../../registry/endpoints.ts'
import type { DeliveryStanding } from '../delivery-state/endpoint-state.ts'
import { shardOf } from '../worker/shard-of.ts'

/** The table of the log that holds them. */
export const HEALTH_TABLE = 'webhook-health'
/** Between two looks at what changed. */
const REPORT_EVERY_MS = 10 * SECOND_MS
/** What has not changed is published again after this time, as a sign that somebody delivers. */
const REPEAT_MS = MINUTE_MS
/** A report that was not followed by another for so long is of a process that stopped: twice the time and a slow log. */
const STALE_MS = 2.5 * MINUTE_MS

const count = z.int().min(0)
const standing = z.object({
  pending: count,
  oldestMs: count.nullable(),
  dead: count,
  /** Absent in reports of builds that did not count them. */
  forgotten: count.default(0),
  failingSinceMs: count.nullable(),
  unreadAfter: count.nullable(),
  replays: z
    .array(
      z.object({
        id: z.string(),
        createdAtMs: count,
        from: count.nullable(),
        until: count,
        position: count,
        only: z.enum(['all', 'dead', 'ids']),
        count: count.nullable(),
      }),
    )
    .readonly()
    .exactOptional(),
})
/** One row for each shard, by its number: the endpoints for which something waits or fails. */
const report = z.object({ kind: z.literal('shard'), endpoints: z.record(z.string(), standing) })
type Report = z.output<typeof report>

/** An endpoint for which nothing waits and nothing fails. */
const AT_REST: DeliveryStanding = Object.freeze({
  pending: 0,
  oldestMs: null,
  dead: 0,
  forgotten: 0,
  failingSinceMs: null,
  unreadAfter: null,
})

/** The endpoints of the shards of this process, by the number of their shard. */
export type StandingsByShard = () => ReadonlyMap<number, ReadonlyMap<string, DeliveryStanding>>

/** What was published of a shard last, and when, ms since 1970. */
interface Published {
  text: string
  atMs: number
}

/** The reports of all nodes. Nothing is known until it follows. */
export class HealthReports {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #table: Table<Report>
  /** What this node has published, by shard. */
  readonly #published = new Map<number, Published>()
  readonly #byShard = new Map<string, { report: Report; receivedMs: number }>()

  constructor({ log, clock, logger }: { log: Log; clock: Clock; logger: Logger }) {
    this.#clock = clock
    this.#logger = logger
    this.#table = log.table<Report>(HEALTH_TABLE)
  }

  /** How the deliveries of an endpoint stood some seconds ago; null where no node has said, or none delivers any more. */
  of({ id, createdAtMs }: Pick<Endpoint, 'id' | 'createdAtMs'>): DeliveryStanding | null {
    const found = this.#byShard.get(`${shardOf(id)}`)
    if (found === undefined || this.#clock.now() - found.receivedMs > STALE_MS) return null
    // A report from before it was created does not know it.
    return found.report.endpoints[id] ?? (createdAtMs > found.receivedMs ? null : AT_REST)
  }

  /** Reads the reports until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const onChange = ({ key, value }: Change<unknown>): void => {
      const read = report.safeParse(value).data
      if (read === undefined) this.#byShard.delete(key)
      else this.#byShard.set(key, { report: read, receivedMs: this.#clock.now() })
    }
    await followTable(this.#table, { onChange, onLoaded: () => undefined }, signal)
  }

  /** Publishes the shards of this process when they have changed, and every minute, until the signal aborts. */
  async publish(standings: StandingsByShard, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#clock, REPORT_EVERY_MS, signal)
      if (!signal.aborted) await this.publishNow(standings)
    }
  }

  /** Publishes what has changed. */
  async publishNow(standings: StandingsByShard): Promise<void> {
    const now = standings()
    for (const shard of this.#published.keys()) if (!now.has(shard)) this.#published.delete(shard)
    for (const [shard, endpoints] of now) await this.#publishOne(shard, endpoints)
  }

  async #publishOne(shard: number, all: ReadonlyMap<string, DeliveryStanding>): Promise<void> {
    const restless = [...all].filter(([, one]) => JSON.stringify(one) !== JSON.stringify(AT_REST))
    const row: Report = { kind: 'shard', endpoints: Object.fromEntries(restless) }
    const text = JSON.stringify(row)
    const before = this.#published.get(shard)
    const atMs = this.#clock.now()
    if (before?.text === text && Math.abs(atMs - before.atMs) < REPEAT_MS) return
    try {
      await this.#table.put(`${shard}`, row)
      this.#published.set(shard, { text, atMs })
    } catch (error) {
      if (!isBridgeError(error, 'log_unavailable')) throw error
      this.#logger.warn('webhook.health_not_published', { shard, error })
    }
  }
}
