/**
 * Stores commands for webhook endpoints (operations such as a replay) in a table of the log, and keeps all of them in
 * memory. Any node can store a command; the process that delivers to the endpoint carries it out.
 */
import { type Clock, within } from '../../lifecycle/clock.ts'
import { createWakeup } from '../../lifecycle/wakeup.ts'
import { followTable } from '../../log/follow-table.ts'
import type { Log } from '../../log/log.ts'
import type { Change } from '../../log/tables.ts'
import type { Logger } from '../../obs/logger.ts'
import { createAwaitedChanges } from '../../registry/awaited-changes.ts'
import {
  COMMANDS_TABLE,
  type Command,
  type CountCommand,
  commandKey,
  type KeyedCommand,
  readCommand,
} from './command-rows.ts'

/** Most replays of an endpoint that wait to begin. */
export const MOST_WAITING_REPLAYS = 10
/** Longest wait for an answer. */
export const ANSWER_MS = 10_000

/** The id of the command that ends a replay. */
const cancelId = (replayId: string): string => `cancel-${replayId}`
/** An endpoint is stopped, and what waits of it made due, by one command at a time. */
const STOP_ID = 'stop'
const HASTEN_ID = 'hasten'
/**
 * Longest wait for the owner of an endpoint's shard to stop. One that has no contact with Kafka gives its shards up after the
 * session of 6 s; so after this time nobody is at work who could not be reached.
 */
export const STOP_MS = 10_000

/** The commands of all endpoints, as this node knows them. */
export type Commands = ReturnType<typeof createCommands>

/** Nothing is known until it runs. */
export function createCommands({ log, clock, logger }: { log: Log; clock: Clock; logger: Logger }) {
  const table = log.table<Command>(COMMANDS_TABLE)
  const byEndpoint = new Map<string, Map<string, KeyedCommand>>()
  const stopped = new AbortController()
  const awaited = createAwaitedChanges(stopped.signal)
  let isLoaded = false
  const wakeup = createWakeup()

  const apply = ({ key, value }: Change<unknown>): void => {
    const read = readCommand(key, value)
    if (value !== null && read === null) logger.error('webhook.command_unreadable', { name: key })
    const endpointId = key.slice(0, key.indexOf('/'))
    const own = byEndpoint.get(endpointId) ?? new Map<string, KeyedCommand>()
    if (read === null) own.delete(key)
    else own.set(key, read)
    if (own.size === 0) byEndpoint.delete(endpointId)
    else byEndpoint.set(endpointId, own)
    awaited.seen(key)
    wakeup.wake()
  }
  /** Removes a command. @throws BridgeError `log_unavailable` */
  const remove = (key: string): Promise<void> => awaited.write(key, () => table.delete(key))
  /** Known on this node when it resolves. @throws BridgeError `log_unavailable` */
  const put = (endpointId: string, id: string, command: Command): Promise<void> => {
    const key = commandKey(endpointId, id)
    return awaited.write(key, () => table.put(key, command))
  }
  const answerTo = async (key: string, endpointId: string, signal: AbortSignal): Promise<number | null> => {
    while (!signal.aborted) {
      const command = byEndpoint.get(endpointId)?.get(key)?.command
      if (command?.kind === 'counted') return command.count
      await wakeup.wait(signal)
    }
    return null
  }

  /** Stores a command and waits until it is carried out, so long at most. False where it was not yet. */
  const untilDone = async (
    endpointId: string,
    id: string,
    command: Command,
    { limitMs, signal }: { limitMs: number; signal: AbortSignal },
  ): Promise<boolean> => {
    const key = commandKey(endpointId, id)
    const isOpen = (): boolean => byEndpoint.get(endpointId)?.has(key) ?? false
    await put(endpointId, id, command)
    await within(clock, limitMs, signal, async (waiting) => {
      while (isOpen() && !waiting.aborted) await wakeup.wait(waiting)
    })
    return !isOpen()
  }

  return {
    /** Whether the table has been read: until then no command is known. */
    get isLoaded(): boolean {
      return isLoaded
    },
    put,
    remove,
    /** Has all deliveries of the endpoint made due that wait for a retry. @throws BridgeError `log_unavailable` */
    hasten: (endpointId: string): Promise<void> =>
      put(endpointId, HASTEN_ID, { kind: 'hasten', atMs: clock.now() }),
    /**
     * Resolves when the process that delivers to the endpoint, which is stored as stopped, has stopped; at the latest after
     * `STOP_MS`.
     * @throws BridgeError `log_unavailable`
     */
    async untilStopped(endpointId: string): Promise<void> {
      const limits = { limitMs: STOP_MS, signal: stopped.signal }
      const isDone = await untilDone(endpointId, STOP_ID, { kind: 'stop', atMs: clock.now() }, limits)
      if (!isDone) await remove(commandKey(endpointId, STOP_ID))
    },
    /**
     * Ends a replay, also one that waits. False where no process that delivers has done so in time: one will.
     * @throws BridgeError `log_unavailable`
     */
    cancel: (endpointId: string, replay: string, signal: AbortSignal): Promise<boolean> => {
      const limits = { limitMs: ANSWER_MS, signal: AbortSignal.any([signal, stopped.signal]) }
      const command = { kind: 'cancel', replay, atMs: clock.now() } as const
      return untilDone(endpointId, cancelId(replay), command, limits)
    },
    /** Every command, in the order of their requests. */
    all: (): KeyedCommand[] => [...byEndpoint.values()].flatMap((own) => inOrder(own)),
    /** Those of an endpoint, in that order. */
    of: (endpointId: string): KeyedCommand[] => inOrder(byEndpoint.get(endpointId) ?? new Map()),
    /**
     * The count of dead deliveries, from the process that works on the endpoint; null where none answers in time, or the signal
     * aborts.
     * @throws BridgeError `log_unavailable`
     */
    async count(
      endpointId: string,
      id: string,
      question: CountCommand,
      signal: AbortSignal,
    ): Promise<number | null> {
      const key = commandKey(endpointId, id)
      let answer: number | null = null
      await put(endpointId, id, question)
      await within(clock, ANSWER_MS, AbortSignal.any([signal, stopped.signal]), async (waiting) => {
        answer = await answerTo(key, endpointId, waiting)
      })
      await remove(key).catch((error: unknown) => {
        // The process that works on the endpoint removes it later.
        logger.warn('webhook.command_delayed', { endpointId, kind: question.kind, error })
      })
      return answer
    },
    /** Resolves when a command is added or removed, or the signal aborts. */
    changed: (signal: AbortSignal): Promise<void> => wakeup.wait(signal),
    /** Reads the table and follows it until the signal aborts. */
    async run(signal: AbortSignal): Promise<void> {
      signal.addEventListener('abort', () => stopped.abort(), { once: true })
      const onLoaded = (): void => {
        isLoaded = true
      }
      await followTable(table, { onChange: apply, onLoaded }, signal)
    },
  }
}

function inOrder(commands: ReadonlyMap<string, KeyedCommand>): KeyedCommand[] {
  return [...commands.values()].sort((one, other) => one.command.atMs - other.command.atMs)
}
