/**
 * Carries out the commands of the endpoints that this process works on. A command is removed only when its effect is durable,
 * so another process repeats it after a crash.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { isBridgeError } from '../../errors.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Endpoints } from '../../registry/endpoints.ts'
import type { ShardWorker } from '../worker/shard-worker.ts'
import type { CountCommand, KeyedCommand, ReplayCommand } from './command-rows.ts'
import { ANSWER_MS, type Commands } from './commands.ts'
import type { Notifications } from './notifications.ts'

/** Between two tries of commands that could not be carried out: nobody works on the endpoint yet, or others come first. */
const LOOK_MS = 500
/** A request to count, or its answer, is removed after this time. */
const STALE_MS = 6 * ANSWER_MS
/** A command may be read before its endpoint; after this time the endpoint does not exist. */
const ENDPOINT_KNOWN_MS = 60_000

/** What the runner needs of a shard's worker. */
export type ReplayWorker = Pick<ShardWorker, 'replay' | 'replays' | 'countDead'>

/** What the runner needs of the process. */
export interface CommandRunnerOptions {
  commands: Commands
  endpoints: Pick<Endpoints, 'isLoaded' | 'get'>
  /** The worker of the endpoint's shard in this process; null: another process has it. */
  workerOf: (endpointId: string) => ReplayWorker | null
  notifications: Pick<Notifications, 'carryOut' | 'isOpen' | 'send'>
  reader: Pick<Reader, 'epoch'>
  clock: Clock
  logger: Logger
}

export interface CommandRunner {
  /** Works until the signal aborts and commands in hand have ended. Rejects only with a fault of the program. */
  run(signal: AbortSignal): Promise<void>
}

/** The runner of this process. */
export function createCommandRunner(options: CommandRunnerOptions): CommandRunner {
  const { commands, endpoints, workerOf, notifications, reader, clock, logger } = options
  /** Locks of the commands that are being carried out. */
  const busy = new Set<string>()
  /** Replays that were begun here and whose command could not be removed yet. */
  const begun = new Set<string>()

  const isStale = ({ endpointId, command }: KeyedCommand): boolean => {
    const ageMs = clock.now() - command.atMs
    if (command.kind === 'count' || command.kind === 'counted') return ageMs > STALE_MS
    return ageMs > ENDPOINT_KNOWN_MS && endpoints.isLoaded && endpoints.get(endpointId) === null
  }

  const answer = async (keyed: KeyedCommand, { after, until }: CountCommand): Promise<void> => {
    const { endpointId, id } = keyed
    const count = workerOf(endpointId)?.countDead(endpointId, { after, until }) ?? null
    if (count !== null) await commands.put(endpointId, id, { kind: 'counted', count, atMs: clock.now() })
  }

  /** One replay of an endpoint runs at a time; the others wait as commands. */
  const begin = async ({ key, endpointId, id }: KeyedCommand, command: ReplayCommand): Promise<void> => {
    const { epoch, after, until, only, atMs } = command
    if (reader.epoch === null) return
    if (reader.epoch !== epoch) {
      logger.warn('webhook.replay_abandoned', { endpointId, replay: id, reason: 'epoch_changed' })
      return commands.remove(key)
    }
    if (!begun.has(key)) {
      const worker = workerOf(endpointId)
      const isBegun = await worker?.replay(endpointId, { id, base: after, until, only, createdAtMs: atMs })
      if (isBegun !== true) return
      begun.add(key)
      logger.info('webhook.replay_started', { endpointId, replay: id })
    }
    await commands.remove(key)
    begun.delete(key)
  }

  /** The command only waits for its time. */
  const isLater = ({ endpointId, command }: KeyedCommand): boolean =>
    command.kind === 'notice' && command.dueMs > clock.now() && notifications.isOpen(endpointId)

  /** Time to the next try; null: wait until something changes. */
  const nextLookMs = (): number | null => {
    let nextMs: number | null = null
    for (const keyed of commands.all()) {
      const { command } = keyed
      const ownMs = command.kind === 'notice' && isLater(keyed) ? command.dueMs - clock.now() : LOOK_MS
      nextMs = Math.min(nextMs ?? ownMs, ownMs)
    }
    return nextMs
  }

  /** Starts what can be done now; null: the command waits. */
  const workOn = (keyed: KeyedCommand, signal: AbortSignal): Promise<void> | null => {
    const { key, endpointId, id, command } = keyed
    if (isStale(keyed)) return commands.remove(key)
    const worker = workerOf(endpointId)
    if (worker === null || command.kind === 'counted') return null
    if (command.kind === 'count') return answer(keyed, command)
    if (command.kind === 'disable') return notifications.carryOut(keyed, command)
    if (command.kind === 'notice') {
      return isLater(keyed) || !notifications.isOpen(endpointId)
        ? null
        : notifications.send(keyed, command, signal)
    }
    const open = worker.replays(endpointId)
    if (open === null) return null
    return begun.has(key) || open.length === 0 || open.includes(id) ? begin(keyed, command) : null
  }

  const look = (track: (work: Promise<void>) => void, signal: AbortSignal): void => {
    for (const keyed of commands.all()) {
      const { command, endpointId, key } = keyed
      // The replays of an endpoint run one after the other, and so do its notifications.
      const isSerial = command.kind === 'replay' || command.kind === 'notice'
      const lock = isSerial ? `${endpointId} ${command.kind}` : key
      const work = busy.has(lock) ? null : workOn(keyed, signal)
      if (work === null) continue
      busy.add(lock)
      track(
        work
          .catch((error: unknown) => {
            if (!isBridgeError(error, 'log_unavailable')) throw error
            logger.warn('webhook.command_delayed', { endpointId, kind: command.kind, error })
          })
          .finally(() => busy.delete(lock)),
      )
    }
  }

  return {
    async run(signal) {
      const failed = new AbortController()
      const either = AbortSignal.any([signal, failed.signal])
      const inFlight = new Set<Promise<void>>()
      const track = (work: Promise<void>): void => {
        inFlight.add(work)
        work.then(
          () => inFlight.delete(work),
          (error: unknown) => failed.abort(error),
        )
      }
      while (!either.aborted) {
        look(track, either)
        await changedWithin(nextLookMs(), { commands, clock }, either)
      }
      await Promise.allSettled(inFlight)
      failed.signal.throwIfAborted()
    },
  }
}

/** Waits until a command changes, at most `waitMs` (null: without limit), or until the signal aborts. */
async function changedWithin(
  waitMs: number | null,
  { commands, clock }: Pick<CommandRunnerOptions, 'commands' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  const enough = new AbortController()
  const either = AbortSignal.any([signal, enough.signal])
  const later = waitMs === null ? [] : [sleep(clock, waitMs, either)]
  await Promise.race([commands.changed(either), ...later])
  enough.abort()
}
