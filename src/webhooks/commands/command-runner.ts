/**
 * Carries out the stored commands (operations such as a replay) for the webhook endpoints to which this process
 * delivers. A command is removed only when its effect is durable, so another process repeats it after a crash.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { HOUR_MS } from '../../core/durations.ts'
import { isBridgeError } from '../../errors.ts'
import { type Clock, sleep, within } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Endpoints } from '../../registry/endpoints.ts'
import type { ShardWorker } from '../worker/shard-worker.ts'
import { type CountCommand, commandKey, type KeyedCommand, type ReplayCommand } from './command-rows.ts'
import { ANSWER_MS, type Commands, STOP_MS } from './commands.ts'
import type { Notifications } from './notifications.ts'

/** Between two tries of commands that could not be carried out: nobody works on the endpoint yet, or others come first. */
const LOOK_MS = 500
/** Longest time between two tries. */
const LONGEST_LOOK_MS = HOUR_MS
/** Between two looks whether an endpoint is stopped here. */
const STOP_LOOK_MS = 5
/** A request to count, or its answer, is removed after this time. */
const STALE_MS = 6 * ANSWER_MS
/** A command may be read before its endpoint; after this time the endpoint does not exist. */
const ENDPOINT_KNOWN_MS = 60_000

/** What the runner needs of a shard's worker. */
export type ReplayWorker = Pick<ShardWorker, 'replay' | 'cancelReplay' | 'machineOf' | 'hasten' | 'isSending'>

/** What the runner needs of the process. */
export interface CommandRunnerOptions {
  commands: Commands
  endpoints: Pick<Endpoints, 'isLoaded' | 'get'>
  /** The worker of the endpoint's shard in this process; null: another process has it. */
  workerOf: (endpointId: string) => ReplayWorker | null
  notifications: Pick<Notifications, 'carryOut' | 'isOpen' | 'send'>
  /** Tells other nodes how the deliveries of this one stand. Never rejects for want of the log. */
  report: () => Promise<void>
  reader: Pick<Reader, 'epoch'>
  clock: Clock
  logger: Logger
}

/** The runner of a process. */
export class CommandRunner {
  readonly #options: CommandRunnerOptions
  /** Locks of the commands that are being carried out. */
  readonly #busy = new Set<string>()
  /** Replays that were begun here and whose command could not be removed yet. */
  readonly #begun = new Set<string>()
  readonly #inFlight = new Set<Promise<void>>()
  readonly #failed = new AbortController()

  constructor(options: CommandRunnerOptions) {
    this.#options = options
  }

  /** Works until the signal aborts and commands in hand have ended. Rejects only with a fault of the program. */
  async run(signal: AbortSignal): Promise<void> {
    const { commands, clock } = this.#options
    const either = AbortSignal.any([signal, this.#failed.signal])
    while (!either.aborted) {
      this.#startAll(either)
      await within(clock, this.#nextLookMs(), either, (waiting) => commands.changed(waiting))
    }
    await Promise.allSettled(this.#inFlight)
    this.#failed.signal.throwIfAborted()
  }

  #startAll(signal: AbortSignal): void {
    const { commands, logger } = this.#options
    const all = commands.all()
    const isCancel = ({ command }: KeyedCommand): boolean => command.kind === 'cancel'
    // A replay that is to end must not begin first.
    for (const keyed of [...all.filter(isCancel), ...all.filter((one) => !isCancel(one))]) {
      const { command, endpointId, key } = keyed
      // The replays of an endpoint are begun and ended one after the other, and so are its notifications sent.
      const line = { replay: 'replay', cancel: 'replay', notice: 'notice' }[command.kind as string]
      const lock = line === undefined ? key : `${endpointId} ${line}`
      const started = this.#busy.has(lock) ? null : this.#start(keyed, signal)
      if (started === null) continue
      this.#busy.add(lock)
      const work = started
        .catch((error: unknown) => {
          if (!isBridgeError(error, 'log_unavailable')) return this.#failed.abort(error)
          logger.warn('webhook.command_delayed', { endpointId, kind: command.kind, error })
        })
        .finally(() => {
          this.#busy.delete(lock)
          this.#inFlight.delete(work)
        })
      this.#inFlight.add(work)
    }
  }

  /** Starts what can be done now; null: the command waits. */
  #start(keyed: KeyedCommand, signal: AbortSignal): Promise<void> | null {
    const { commands, workerOf, notifications } = this.#options
    const { key, endpointId, id, command } = keyed
    if (this.#isStale(keyed)) return commands.remove(key)
    const worker = workerOf(endpointId)
    if (worker === null || command.kind === 'counted') return null
    if (command.kind === 'count') return this.#answer(keyed, countDead(worker, endpointId, command))
    if (command.kind === 'cancel') return this.#cancel(keyed, command.replay, worker)
    if (command.kind === 'stop') return this.#confirmStop(keyed, worker, signal)
    if (command.kind === 'hasten') return this.#hasten(keyed, worker)
    if (command.kind === 'disable') return notifications.carryOut(keyed, command)
    if (command.kind === 'notice') {
      return this.#isLater(keyed) || !notifications.isOpen(endpointId)
        ? null
        : notifications.send(keyed, command, signal)
    }
    const open = worker.machineOf(endpointId)?.cursors.replayIds()
    if (open === undefined) return null
    const isNext = this.#begun.has(key) || open.length === 0 || open.includes(id)
    return isNext ? this.#begin(keyed, command, worker) : null
  }

  /** The change of the endpoint may be read after the command. */
  async #confirmStop(
    { key, endpointId }: KeyedCommand,
    worker: ReplayWorker,
    signal: AbortSignal,
  ): Promise<void> {
    const { commands, endpoints, clock } = this.#options
    const untilMs = clock.now() + STOP_MS
    const isSending = (): boolean =>
      endpoints.get(endpointId)?.status === 'active' || worker.isSending(endpointId)
    while (isSending() && clock.now() < untilMs && !signal.aborted) await sleep(clock, STOP_LOOK_MS, signal)
    if (!signal.aborted) await commands.remove(key)
  }

  async #hasten({ key, endpointId }: KeyedCommand, worker: ReplayWorker): Promise<void> {
    const { commands, logger } = this.#options
    if (!(await worker.hasten(endpointId))) return
    logger.info('webhook.hastened', { endpointId })
    await commands.remove(key)
  }

  async #answer({ endpointId, id }: KeyedCommand, count: number | null): Promise<void> {
    const { commands, clock } = this.#options
    if (count !== null) await commands.put(endpointId, id, { kind: 'counted', count, atMs: clock.now() })
  }

  /** A replay that waits is a command, one that was begun a row. */
  async #cancel({ key, endpointId }: KeyedCommand, replay: string, worker: ReplayWorker): Promise<void> {
    const { commands, logger } = this.#options
    const waiting = commandKey(endpointId, replay)
    await commands.remove(waiting)
    if (!(await worker.cancelReplay(endpointId, replay))) return
    this.#begun.delete(waiting)
    logger.info('webhook.replay_cancelled', { endpointId, replay })
    await this.#options.report()
    await commands.remove(key)
  }

  /** One replay of an endpoint runs at a time; the others wait as commands. */
  async #begin(
    { key, endpointId, id }: KeyedCommand,
    { epoch, after, until, only, count, atMs }: ReplayCommand,
    worker: ReplayWorker,
  ): Promise<void> {
    const { commands, reader, logger } = this.#options
    if (reader.epoch === null) return
    if (reader.epoch !== epoch) {
      logger.warn('webhook.replay_abandoned', { endpointId, replay: id, reason: 'epoch_changed' })
      return commands.remove(key)
    }
    if (!this.#begun.has(key)) {
      const known = { from: after, ...(count !== undefined && { count }) }
      const wanted = { id, base: after, until, only, createdAtMs: atMs, ...known }
      if (!(await worker.replay(endpointId, wanted))) return
      this.#begun.add(key)
      logger.info('webhook.replay_started', { endpointId, replay: id })
      // Other nodes know it as a command until they know it from the report.
      await this.#options.report()
    }
    await commands.remove(key)
    this.#begun.delete(key)
  }

  #isStale({ endpointId, command }: KeyedCommand): boolean {
    const { endpoints, clock } = this.#options
    const ageMs = clock.now() - command.atMs
    if (['count', 'counted', 'stop'].includes(command.kind)) return ageMs > STALE_MS
    return ageMs > ENDPOINT_KNOWN_MS && endpoints.isLoaded && endpoints.get(endpointId) === null
  }

  /** The command only waits for its time. */
  #isLater({ endpointId, command }: KeyedCommand): boolean {
    const { notifications, clock } = this.#options
    if (command.kind !== 'notice') return false
    const nowMs = clock.now()
    const { dueMs, setMs = 0 } = command
    // Where the clock was set back since, it is tried at once: else it would wait longer by the step.
    return dueMs > nowMs && setMs <= nowMs && notifications.isOpen(endpointId)
  }

  /** Time to the next try; a new command wakes the runner earlier. */
  #nextLookMs(): number {
    const { commands, clock } = this.#options
    let leastMs = LONGEST_LOOK_MS
    for (const keyed of commands.all()) {
      const { command } = keyed
      const isLater = command.kind === 'notice' && this.#isLater(keyed)
      leastMs = Math.min(leastMs, isLater ? command.dueMs - clock.now() : LOOK_MS)
    }
    return leastMs
  }
}

/** How many deliveries of the window are dead; null where the endpoint is not worked on here. */
function countDead(
  worker: ReplayWorker,
  endpointId: string,
  { after, until }: Pick<CountCommand, 'after' | 'until'>,
): number | null {
  return worker.machineOf(endpointId)?.dead.in(after, until).length ?? null
}
