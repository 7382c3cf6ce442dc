/**
 * Simulates everything around the worker of one shard: a growing log, receivers with scripted behaviour, and a shard
 * whose rows survive crashes and whose last write may be lost, done, or half done. It counts what was received itself.
 * Everything is drawn from one seed, so a failing run can be repeated.
 */
import { createSecretKey } from 'node:crypto'
import type { ReplicaState } from '../../../src/archive/store/replica-progress.ts'
import type { AttemptEnd } from '../../../src/core/attempt-end.ts'
import { type SeededChance, seededChance } from '../../../src/core/chance.ts'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { dataBytes } from '../../../src/core/event.ts'
import { BridgeError } from '../../../src/errors.ts'
import type { Shard } from '../../../src/log/shards.ts'
import type { Change } from '../../../src/log/tables.ts'
import type { DeliveryRow } from '../../../src/webhooks/delivery-state/delivery-rows.ts'
import type { DeliveryEndpoint } from '../../../src/webhooks/delivery-state/endpoint-state.ts'
import type { DueNotice } from '../../../src/webhooks/delivery-state/endpoint-trouble.ts'
import type { Attempted } from '../../../src/webhooks/send/delivery.ts'
import { DeliveryEvents } from '../../../src/webhooks/send/delivery-events.ts'
import { attemptPlaces } from '../../../src/webhooks/worker/attempt-places.ts'
import { RowBudget } from '../../../src/webhooks/worker/row-budget.ts'
import { ShardWorker } from '../../../src/webhooks/worker/shard-worker.ts'
import { StartQueue } from '../../../src/webhooks/worker/start-queue.ts'
import { keepingLogger } from '../keeping-logger.ts'
import { createScriptedReader, EPOCH, type ScriptedReader } from '../streams/scripted-reader.ts'
import { createManualClock, type ManualClock } from '../time/manual-clock.ts'

/** How a receiver answers an attempt, and after what time. */
export type Script = (attempt: { eventId: string; tries: number; nowMs: number; chance: SeededChance }) => {
  end: AttemptEnd
  afterMs: number
}

/** An attempt as the receiver saw it. */
export interface Seen {
  endpointId: string
  sequence: number
  subject: string
  webhookId: string
  /** All events of its request, in their order, with the bytes of their `data` as text. */
  members: readonly { sequence: number; data: string }[]
  /** Which process sent it. */
  life: number
  attempt: number
  startedMs: number
  /** null: it was cut off by a crash before its end. */
  endedMs: number | null
  status: number | null
  /** Seconds that its answer asked to wait; null where it asked for nothing. */
  retryAfter: string | null
}

export interface WorldOptions {
  seed: number
  endpoints: readonly DeliveryEndpoint[]
  scripts: Readonly<Record<string, Script>>
  /** Probability that a write is refused with `log_unavailable`, though it may have been done. */
  refusals?: number
  /** What the shard holds at the beginning. */
  rows?: Readonly<Record<string, DeliveryRow>>
  /** The state of the node's copy of the log; by default it is the log itself. */
  replica?: ReplicaState
}

/** An endpoint that wants everything; `changes` replace members. */
export function endpointOf(id: string, changes: Partial<DeliveryEndpoint> = {}): DeliveryEndpoint {
  return {
    id,
    version: '1',
    tenant: 'default',
    url: 'https://receiver.example/hook',
    filter: {},
    headers: {},
    maxConcurrency: 4,
    rateLimit: null,
    order: 'none',
    maxBatch: null,
    status: 'active',
    start: encodeCursor({ epoch: EPOCH, sequence: 0, timeMs: 0 }),
    keys: [createSecretKey(Buffer.alloc(32, 7))],
    ...changes,
  }
}

/** What a receiver answers. */
export function answer(status: number): AttemptEnd {
  return { kind: 'answered', status, retryAfter: null }
}

/** Longest that an attempt lasts, as `attemptLimits` has it. */
const TIMEOUT_MS = 15_000

function statusOf(end: AttemptEnd): number | null {
  return end.kind === 'answered' ? end.status : null
}

interface ReceivedEvent {
  id: string
  sequence: string
  subject: string
  /** The bytes of its `data`, as text. */
  data: string
}

/** The events of a body: one, or those of a batch. */
function eventsOf(body: Buffer): ReceivedEvent[] {
  const parsed = JSON.parse(body.toString('utf8'))
  if (!Array.isArray(parsed)) return [{ ...parsed, data: dataBytes(body).toString('utf8') }]
  return parsed.map((event) => ({ ...event, data: JSON.stringify(event.data) }))
}

/** The receiver that never answers. */
export const hangs: Script = () => ({ end: { kind: 'failed', fault: 'timeout' }, afterMs: TIMEOUT_MS })

/** The receiver that takes everything. */
export const healthy: Script = ({ chance }) => ({ end: answer(204), afterMs: chance.between(5, 50) })

export class WebhookWorld {
  readonly clock: ManualClock = createManualClock()
  readonly rows = new Map<string, DeliveryRow>()
  readonly rowBudget = new RowBudget()
  readonly seen: Seen[] = []
  readonly attempted: Attempted[] = []
  /** Told too of every attempt that had an end. */
  onAttempted: ((attempted: Attempted) => void) | null = null
  readonly disabled: { id: string; reason: string }[] = []
  readonly notices: ({ id: string } & DueNotice)[] = []
  readonly log: ScriptedReader
  readonly endpoints = new Map<string, DeliveryEndpoint>()
  readonly #kept = keepingLogger()
  /** What the worker has logged, in all its lives. */
  readonly lines = this.#kept.lines
  /** Most that were in flight at once, by endpoint. */
  readonly mostInFlight = new Map<string, number>()
  worker: ShardWorker | null = null
  life = 0
  refusals: number
  private readonly chance: SeededChance
  private readonly scripts: Readonly<Record<string, Script>>
  private readonly tries = new Map<string, number>()
  private readonly inFlight = new Map<string, number>()
  private lost = new AbortController()
  private leaving = new AbortController()
  private stopping = new AbortController()
  private running: Promise<unknown> = Promise.resolve()
  private fault: unknown = null
  /** The write that is under way. */
  private underWay: readonly Change<DeliveryRow>[] | null = null

  constructor(options: WorldOptions) {
    this.chance = seededChance(options.seed)
    this.scripts = options.scripts
    this.refusals = options.refusals ?? 0
    this.log = createScriptedReader(this.clock, options.replica)
    for (const [key, row] of Object.entries(options.rows ?? {})) this.rows.set(key, row)
    for (const endpoint of options.endpoints) this.endpoints.set(endpoint.id, endpoint)
    this.start()
  }

  /** A process gets the shard. */
  start(): void {
    this.life += 1
    const { life } = this
    this.lost = new AbortController()
    this.leaving = new AbortController()
    this.stopping = new AbortController()
    const shard: Shard<DeliveryRow> = {
      number: 0,
      rows: new Map(this.rows),
      lost: this.lost.signal,
      releasing: this.leaving.signal,
      write: (changes) => this.write(life, structuredClone(changes)),
    }
    const worker = new ShardWorker({
      shard,
      reader: this.log.reader,
      events: new DeliveryEvents(this.log.reader),
      starts: new StartQueue(this.clock, attemptPlaces(8192)),
      attempt: (endpoint, post, signal) => this.attempt(life, endpoint, post, signal),
      disable: async ({ id }, reason) => {
        if (this.endpoints.get(id)?.status === 'disabled') return false
        this.disabled.push({ id, reason })
        this.change(id, { status: 'disabled' })
        return true
      },
      notify: async (id, notice) => void this.notices.push({ id, ...notice }),
      onAttempted: (attempted) => {
        this.attempted.push(attempted)
        this.onAttempted?.(attempted)
      },
      rowBudget: this.rowBudget,
      drainMs: 20_000,
      clock: this.clock,
      chance: () => this.chance.next(),
      logger: this.#kept.logger,
    })
    this.worker = worker
    for (const endpoint of this.endpoints.values()) worker.set(endpoint)
    this.running = worker.run(this.stopping.signal).catch((error: unknown) => {
      this.fault = error
    })
  }

  /** An endpoint is changed. */
  change(id: string, changes: Partial<DeliveryEndpoint>): void {
    const endpoint = this.endpoints.get(id)
    if (endpoint === undefined) throw new RangeError(id)
    this.endpoints.set(id, { ...endpoint, ...changes })
    this.worker?.set({ ...endpoint, ...changes })
  }

  /** The process dies, or the shard is taken: only the rows are left. What was being written is done, not, or in part. */
  async crash(): Promise<void> {
    this.life += 1
    const changes = this.underWay ?? []
    this.apply(
      changes.slice(0, this.chance.pick([0, changes.length, this.chance.between(0, changes.length)])),
    )
    this.underWay = null
    this.lost.abort()
    this.worker = null
    await this.settle()
    await this.running
  }

  /** A clean stop. */
  async stop(): Promise<void> {
    this.stopping.abort()
    await this.ended()
  }

  /** The shard goes to another process, which waits for the end of the work. */
  async leave(): Promise<void> {
    this.leaving.abort()
    await this.ended()
  }

  private async ended(): Promise<void> {
    let over = false
    void this.running.then(() => {
      over = true
    })
    await this.settle()
    while (!over) await this.step(Number.POSITIVE_INFINITY)
  }

  /** Lets time pass, timer by timer. */
  async run(forMs: number): Promise<void> {
    const untilMs = this.clock.now() + forMs
    await this.settle()
    while (this.clock.now() < untilMs) await this.step(untilMs)
    if (this.fault !== null) throw this.fault
  }

  private async step(untilMs: number): Promise<void> {
    const leftMs = untilMs - this.clock.now()
    this.clock.advance(Math.min(leftMs, this.clock.nextTimerMs() ?? leftMs))
    await this.settle()
    if (this.fault !== null) throw this.fault
  }

  /** Everything that follows without time has happened. */
  private settle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve))
  }

  private wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.clock.after(delayMs, resolve))
  }

  private apply(changes: readonly Change<DeliveryRow>[]): void {
    for (const { key, value } of changes) {
      if (value === null) this.rows.delete(key)
      else this.rows.set(key, value)
    }
  }

  private async write(life: number, changes: readonly Change<DeliveryRow>[]): Promise<void> {
    if (life !== this.life) throw new BridgeError('shard_lost', 'lost')
    this.underWay = changes
    await this.wait(this.chance.between(1, 5))
    if (life !== this.life) throw new BridgeError('shard_lost', 'lost')
    this.underWay = null
    const isRefused = this.chance.yes(this.refusals)
    if (!isRefused || this.chance.yes(0.5)) this.apply(changes)
    if (isRefused) throw new BridgeError('log_unavailable', 'away')
  }

  private async attempt(
    life: number,
    endpoint: DeliveryEndpoint,
    post: { headers: Readonly<Record<string, string>>; body: Uint8Array },
    signal: AbortSignal,
  ) {
    const startedMs = this.clock.now()
    const script = this.scripts[endpoint.id] ?? healthy
    const events = eventsOf(Buffer.from(post.body)).map((event) => {
      const key = `${endpoint.id} ${event.id}`
      const tries = (this.tries.get(key) ?? 0) + 1
      this.tries.set(key, tries)
      const answered = script({ eventId: event.id, tries, nowMs: startedMs, chance: this.chance })
      return { event, tries, answered }
    })
    const [first] = events
    if (first === undefined) throw new Error('a request without an event')
    // A receiver takes a batch as a whole: where one event fails, all do.
    const failed = events.find(({ answered }) => statusOf(answered.end) !== 204)
    const { end, afterMs } = (failed ?? first).answered
    const members = events.map(({ event }) => ({ sequence: Number(event.sequence), data: event.data }))
    const seen = events.map(
      ({ event, tries }): Seen => ({
        endpointId: endpoint.id,
        sequence: Number(event.sequence),
        subject: event.subject,
        webhookId: post.headers['webhook-id'] ?? '',
        members,
        life,
        attempt: tries,
        startedMs,
        endedMs: null,
        status: statusOf(end),
        retryAfter: end.kind === 'answered' ? end.retryAfter : null,
      }),
    )
    this.seen.push(...seen)
    const slot = `${life} ${endpoint.id}`
    const inFlight = (this.inFlight.get(slot) ?? 0) + 1
    this.inFlight.set(slot, inFlight)
    this.mostInFlight.set(endpoint.id, Math.max(inFlight, this.mostInFlight.get(endpoint.id) ?? 0))
    await this.wait(afterMs)
    this.inFlight.set(slot, (this.inFlight.get(slot) ?? 0) - 1)
    if (!signal.aborted) for (const one of seen) one.endedMs = this.clock.now()
    return {
      end: signal.aborted ? ({ kind: 'aborted' } as const) : end,
      phase: 'head' as const,
      startedMs,
      durationMs: this.clock.now() - startedMs,
      response: null,
      detail: null,
    }
  }
}
