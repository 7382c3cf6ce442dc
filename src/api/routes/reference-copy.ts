/**
 * Keeps this installation's copy of upstream's exchange references. What is asked for the first time is read through the
 * leader and stored in the log; what was read more than a day ago is served, and read again meanwhile.
 */
import {
  createExchangeReplica,
  EXCHANGES_TABLE,
  type ExchangeDetail,
  type ExchangeList,
  type ExchangeRecord,
  type ExchangeReplica,
  LIST_KEY,
} from '../../archive/exchanges.ts'
import { DAY_MS, MINUTE_MS } from '../../core/durations.ts'
import { EXCHANGES_PATH } from '../../core/upstream-paths.ts'
import { isLogOutage } from '../../errors.ts'
import type { Log } from '../../log/log.ts'
import type { Table } from '../../log/tables.ts'
import type { Logger } from '../../obs/logger.ts'
import { type ExchangeReference, isMic } from '../../upstream/exchange.ts'
import type { LeaderReply } from '../../upstream/leader-reply.ts'
import type { ReferenceStore } from '../mirror/reference-routes.ts'
import { MirrorRefusal } from '../mirror/refusal.ts'
import {
  AGAIN_MS,
  type AskLeader,
  createLeaderClient,
  type LeaderClientParts,
  refusalOf,
} from './leader-client.ts'

/** What the copy works with. */
export interface ReferenceCopyParts extends Pick<LeaderClientParts, 'clock'> {
  log: Pick<Log, 'table' | 'requests'>
  logger: Logger
}

/** A record of the log has at most 1 MiB. A list of 1,600 exchanges has some 400 KB. */
const LARGEST_RECORD_BYTES = 900_000

/** The copy as a store for the mirror; it is complete as far as it was read once `run` has loaded it. */
export function createReferenceCopy(parts: ReferenceCopyParts): ReferenceStore & {
  /** Follows what any node has stored, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
} {
  const copy = new ReferenceCopy(parts)
  return { run: copy.run, list: () => copy.list(), detail: (mic) => copy.detail(mic) }
}

class ReferenceCopy {
  readonly #parts: ReferenceCopyParts
  readonly #table: Table<ExchangeRecord>
  readonly #replica: ExchangeReplica
  readonly #ask: AskLeader
  /** The list that this node read last: it may not be in the replica yet, or too large to store. */
  #ownList: ExchangeList | null = null
  /** When what is old was last read again, by target, ms since 1970. */
  readonly #renewedMs = new Map<string, number>()

  constructor(parts: ReferenceCopyParts) {
    this.#parts = parts
    this.#table = parts.log.table<ExchangeRecord>(EXCHANGES_TABLE)
    this.#replica = createExchangeReplica(this.#table)
    this.#ask = createLeaderClient({ requests: parts.log.requests, clock: parts.clock })
  }

  readonly run = (signal: AbortSignal): Promise<void> => this.#replica.run(signal)

  /** @throws MirrorRefusal 503 where it was never read and cannot be read now */
  async list(): Promise<readonly ExchangeReference[]> {
    const known = this.#knownList()
    if (known === null) return (await this.#readList()).entries
    this.#renewIfOld(EXCHANGES_PATH, known, () => this.#readList())
    return known.entries
  }

  /** Null where upstream has no such exchange. @throws as `list` */
  async detail(mic: string): Promise<string | null> {
    const listed = this.#knownList()
    const isUnlisted = listed !== null && !listed.entries.some((entry) => entry.mic === mic)
    if (!isMic(mic) || isUnlisted) return null
    const known = this.#replica.detail(mic)
    if (known === null) return (await this.#readDetail(mic)).detail
    this.#renewIfOld(`${EXCHANGES_PATH}/${mic}`, known, () => this.#readDetail(mic))
    return known.detail
  }

  #knownList(): ExchangeList | null {
    const stored = this.#replica.list()
    return stored !== null && stored.readMs >= (this.#ownList?.readMs ?? 0) ? stored : this.#ownList
  }

  async #readList(): Promise<ExchangeList> {
    const reply = await this.#ask(EXCHANGES_PATH)
    if (reply.status !== 200) throw unreadable(reply)
    const list = { entries: JSON.parse(reply.text) as ExchangeReference[], readMs: this.#parts.clock.now() }
    this.#ownList = list
    await this.#store(LIST_KEY, { kind: 'list', ...list })
    return list
  }

  async #readDetail(mic: string): Promise<ExchangeDetail> {
    const reply = await this.#ask(`${EXCHANGES_PATH}/${mic}`)
    if (reply.status !== 200 && reply.status !== 404) throw unreadable(reply)
    const read = { detail: reply.status === 200 ? reply.text : null, readMs: this.#parts.clock.now() }
    const listed = this.#knownList()?.entries.find((entry) => entry.mic === mic)
    if (listed !== undefined) await this.#store(mic, { kind: 'exchange', listed: listed.text, ...read })
    return read
  }

  /** Stores a record for all nodes and for the time after a restart. Without it, the reference is read again next time. */
  async #store(key: string, record: ExchangeRecord): Promise<void> {
    const { logger } = this.#parts
    const bytes = Buffer.byteLength(JSON.stringify(record))
    if (bytes > LARGEST_RECORD_BYTES) {
      logger.warn('exchange_references.not_stored', {
        name: key,
        reason: `${bytes} bytes, more than ${LARGEST_RECORD_BYTES}`,
      })
      return
    }
    try {
      await this.#table.put(key, record)
    } catch (error) {
      if (!isLogOutage(error)) throw error
      logger.warn('exchange_references.not_stored', { name: key, error })
    }
  }

  /** Reads what is older than a day again, at most once a minute. The leader logs a failure. */
  #renewIfOld(target: string, { readMs }: { readMs: number | null }, read: () => Promise<unknown>): void {
    const nowMs = this.#parts.clock.now()
    const isOld = readMs === null || Math.abs(nowMs - readMs) >= DAY_MS
    const isTried = Math.abs(nowMs - (this.#renewedMs.get(target) ?? Number.NEGATIVE_INFINITY)) < MINUTE_MS
    if (!isOld || isTried) return
    this.#renewedMs.set(target, nowMs)
    read().catch((error: unknown) => {
      if (!(error instanceof MirrorRefusal))
        this.#parts.logger.error('http.request_failed', { path: target, error })
    })
  }
}

/** The refusal of a reply that is neither the reference nor that there is none. */
function unreadable(reply: LeaderReply): MirrorRefusal {
  if (reply.status === 503) return refusalOf(reply)
  return refusalOf({ ...reply, status: 503, retryAfterMs: reply.retryAfterMs ?? AGAIN_MS })
}
