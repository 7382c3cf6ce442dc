/**
 * Carries out the commands of the endpoints that are worked on in this process. Owns that one is taken away only when what it
 * asks for is durable, so that a process that dies leaves it to the next, and that it is tried again while the log is away.
 * Refuses to know shards: whoever works on an endpoint is given to it.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { isBridgeError } from '../../errors.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Endpoints } from '../../registry/endpoints.ts'
import type { ShardWorker } from '../worker/shard-worker.ts'
import type { CountCommand, KeyedCommand, ReplayCommand } from './command-rows.ts'
import { ANSWER_MS, type Commands } from './commands.ts'
import type { Notices } from './notifications.ts'

/** Between two looks at commands that could not be carried out: nobody works on the endpoint yet, or others come first. */
const LOOK_MS = 500
/** When a question, or an answer that nobody has taken, is of no use to anybody. */
const STALE_MS = 6 * ANSWER_MS
/** A command may be known here before its endpoint is; after this time there is none. */
const ENDPOINT_KNOWN_MS = 60_000

/** What of a shard's worker it needs. */
export type ReplayWorker = Pick<ShardWorker, 'replay' | 'replays' | 'countDead'>

export interface CommandRunnerOptions {
  commands: Commands
  endpoints: Pick<Endpoints, 'isLoaded' | 'get'>
  /** Who works on the endpoint in this process; null: nobody does. */
  workerOf: (endpointId: string) => ReplayWorker | null
  notices: Pick<Notices, 'tell' | 'isOpen' | 'send'>
  reader: Pick<Reader, 'epoch'>
  clock: Clock
  logger: Logger
}

export interface CommandRunner {
  /** Works until the signal aborts and what is under way has ended. Rejects with a fault of ours. */
  run(signal: AbortSignal): Promise<void>
}

/** The runner of this process. */
export function createCommandRunner(options: CommandRunnerOptions): CommandRunner {
  const { commands, endpoints, workerOf, notices, reader, clock, logger } = options
  /** What is being carried out. */
  const busy = new Set<string>()
  /** Replays that were begun here and whose command could not be taken away yet. */
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

  /** One replay of an endpoint lies in its shard at a time; the others wait as commands. */
  const begin = async ({ key, endpointId, id }: KeyedCommand, command: ReplayCommand): Promise<void> => {
    const { epoch, after, until, only, atMs } = command
    if (reader.epoch === null) return
    if (reader.epoch !== epoch) {
      logger.warn('webhook.replay_ended', { endpointId, replay: id, reason: 'epoch_changed' })
      return commands.remove(key)
    }
    if (!begun.has(key)) {
      const worker = workerOf(endpointId)
      const isBegun = await worker?.replay(endpointId, { id, base: after, until, only, createdAtMs: atMs })
      if (isBegun !== true) return
      begun.add(key)
      logger.info('webhook.replay_begun', { endpointId, replay: id })
    }
    await commands.remove(key)
    begun.delete(key)
  }

  /** Nothing but time is wanting. */
  const isLater = ({ endpointId, command }: KeyedCommand): boolean =>
    command.kind === 'notice' && command.dueMs > clock.now() && notices.isOpen(endpointId)

  /** Time to the next look; null: when something changes. */
  const nextLookMs = (): number | null => {
    let nextMs: number | null = null
    for (const keyed of commands.all()) {
      const { command } = keyed
      const ownMs = command.kind === 'notice' && isLater(keyed) ? command.dueMs - clock.now() : LOOK_MS
      nextMs = Math.min(nextMs ?? ownMs, ownMs)
    }
    return nextMs
  }

  /** What may be done now; null: it waits. */
  const workOn = (keyed: KeyedCommand, signal: AbortSignal): Promise<void> | null => {
    const { key, endpointId, id, command } = keyed
    if (isStale(keyed)) return commands.remove(key)
    const worker = workerOf(endpointId)
    if (worker === null || command.kind === 'counted') return null
    if (command.kind === 'count') return answer(keyed, command)
    if (command.kind === 'disable') return notices.tell(keyed, command)
    if (command.kind === 'notice') {
      return isLater(keyed) || !notices.isOpen(endpointId) ? null : notices.send(keyed, command, signal)
    }
    const open = worker.replays(endpointId)
    if (open === null) return null
    return begun.has(key) || open.length === 0 || open.includes(id) ? begin(keyed, command) : null
  }

  const look = (attend: (work: Promise<void>) => void, signal: AbortSignal): void => {
    for (const keyed of commands.all()) {
      const { command, endpointId, key } = keyed
      // The replays of an endpoint go one after the other, and so do its notices.
      const inTurn = command.kind === 'replay' || command.kind === 'notice'
      const lock = inTurn ? `${endpointId} ${command.kind}` : key
      const work = busy.has(lock) ? null : workOn(keyed, signal)
      if (work === null) continue
      busy.add(lock)
      attend(
        work
          .catch((error: unknown) => {
            if (!isBridgeError(error, 'log_unavailable')) throw error
            logger.warn('webhook.command_delayed', { endpointId, kind: command.kind, error })
          })
          .finally(() => busy.delete(lock)),
      )
    }
  }

  /** Until something changes, or it is time to look again. */
  const untilNext = async (signal: AbortSignal): Promise<void> => {
    const enough = new AbortController()
    const either = AbortSignal.any([signal, enough.signal])
    const waitMs = nextLookMs()
    const later = waitMs === null ? [] : [sleep(clock, waitMs, either)]
    await Promise.race([commands.changed(either), ...later])
    enough.abort()
  }

  return {
    async run(signal) {
      const failed = new AbortController()
      const either = AbortSignal.any([signal, failed.signal])
      const flying = new Set<Promise<void>>()
      const attend = (work: Promise<void>): void => {
        flying.add(work)
        work.then(
          () => flying.delete(work),
          (error: unknown) => failed.abort(error),
        )
      }
      while (!either.aborted) {
        look(attend, either)
        await untilNext(either)
      }
      await Promise.allSettled(flying)
      failed.signal.throwIfAborted()
    },
  }
}
