/**
 * Publishes how the deliveries of this node's endpoints stand in a table of the log, and reads what other nodes publish.
 * Any node with the role `api` can thus show it. Deliveries depend on none of this.
 */
import { z } from 'zod'
import { SECOND_MS } from '../../core/durations.ts'
import { isBridgeError } from '../../errors.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import { followTable } from '../../log/follow-table.ts'
import type { Log } from '../../log/log.ts'
import type { Change, Table } from '../../log/tables.ts'
import type { Logger } from '../../obs/logger.ts'
import type { DeliveryStanding } from '../delivery-state/endpoint-state.ts'
import { shardOf } from '../worker/shard-of.ts'

/** The table of the log that holds them. */
export const HEALTH_TABLE = 'webhook-health'
/** Between two looks at what changed. */
const REPORT_EVERY_MS = 10 * SECOND_MS

const count = z.int().min(0)
const standing = z.object({
  pending: count,
  oldestMs: count.nullable(),
  dead: count,
  failingSinceMs: count.nullable(),
  unreadAfter: count.nullable(),
})
/** One row for each shard, by its number: the endpoints for which something waits or fails. */
const report = z.object({ kind: z.literal('shard'), endpoints: z.record(z.string(), standing) })
type Report = z.output<typeof report>

/** An endpoint for which nothing waits and nothing fails. */
const AT_REST: DeliveryStanding = Object.freeze({
  pending: 0,
  oldestMs: null,
  dead: 0,
  failingSinceMs: null,
  unreadAfter: null,
})

/** The endpoints of the shards of this process, by the number of their shard. */
export type StandingsByShard = () => ReadonlyMap<number, ReadonlyMap<string, DeliveryStanding>>

/** The reports of all nodes. Nothing is known until it follows. */
export class HealthReports {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #table: Table<Report>
  readonly #byShard = new Map<string, Report>()

  constructor({ log, clock, logger }: { log: Log; clock: Clock; logger: Logger }) {
    this.#clock = clock
    this.#logger = logger
    this.#table = log.table<Report>(HEALTH_TABLE)
  }

  /** How the deliveries of an endpoint stood some seconds ago; null where no node has said. */
  of(endpointId: string): DeliveryStanding | null {
    const found = this.#byShard.get(`${shardOf(endpointId)}`)
    return found === undefined ? null : (found.endpoints[endpointId] ?? AT_REST)
  }

  /** Reads the reports until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const onChange = ({ key, value }: Change<unknown>): void => {
      const read = report.safeParse(value).data
      if (read === undefined) this.#byShard.delete(key)
      else this.#byShard.set(key, read)
    }
    await followTable(this.#table, { onChange, onLoaded: () => undefined }, signal)
  }

  /** Publishes the shards of this process when they have changed, until the signal aborts. */
  async publish(standings: StandingsByShard, signal: AbortSignal): Promise<void> {
    const published = new Map<number, string>()
    while (!signal.aborted) {
      await sleep(this.#clock, REPORT_EVERY_MS, signal)
      if (signal.aborted) return
      const now = standings()
      for (const shard of published.keys()) if (!now.has(shard)) published.delete(shard)
      for (const [shard, endpoints] of now) await this.#publishOne(shard, endpoints, published)
    }
  }

  async #publishOne(
    shard: number,
    all: ReadonlyMap<string, DeliveryStanding>,
    published: Map<number, string>,
  ): Promise<void> {
    const restless = [...all].filter(([, one]) => JSON.stringify(one) !== JSON.stringify(AT_REST))
    const row: Report = { kind: 'shard', endpoints: Object.fromEntries(restless) }
    const text = JSON.stringify(row)
    if (published.get(shard) === text) return
    try {
      await this.#table.put(`${shard}`, row)
      published.set(shard, text)
    } catch (error) {
      if (!isBridgeError(error, 'log_unavailable')) throw error
      this.#logger.warn('webhook.health_not_published', { shard, error })
    }
  }
}
