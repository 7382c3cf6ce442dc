/**
 * Begins a new epoch in the topics of a mirrored or restored Kafka cluster, for `bridge restore`: sequences continue, and every
 * reader gets a gap event.
 */
import { isoOrNull } from '../../core/dates.ts'
import { knownFcaCodes, knownNativeCodes } from '../../core/filter/categories.ts'
import { BridgeError } from '../../errors.ts'
import { type Absence, countAbsence } from '../../ingest/writer-state/absence.ts'
import { disagreementWords, inspectKafka } from '../../log-kafka/inspect.ts'
import { type KafkaLog, openKafkaLog } from '../../log-kafka/log.ts'
import { createLogger } from '../../obs/logger.ts'
import { loadCalendar } from '../../settings/calendar-file.ts'
import type { KafkaSettings } from '../../settings/kafka.ts'
import type { Settings } from '../../settings/settings.ts'
import type { CommandContext } from '../terminal/context.ts'
import { endOnKafkaFault } from '../terminal/kafka-fault.ts'
import { counted } from '../terminal/text.ts'

/** How long to wait for the end of the log, and then for the lead, which takes some seconds where nobody has it. */
const READ_MS = 60_000
const LEAD_MS = 30_000
/** Topics without which there is no log to continue. */
const NEEDED_TOPICS = ['all', 'internal.state']

/** How the command was called. */
export interface KafkaRestoreOptions {
  settings: Settings
  kafka: KafkaSettings
  isDry: boolean
  json: boolean
}

/** Begins the epoch and prints what was done. Rejects with nothing changed while a bridge leads, or without a log. */
export async function restoreOnKafka(options: KafkaRestoreOptions, context: CommandContext): Promise<void> {
  const { settings, kafka, isDry, json } = options
  const { stdout, stderr, clock } = context
  const { topics, ...access } = kafka
  const parts = {
    connection: { ...access, clientId: `${topics.prefix}@restore` },
    ...{ topics, clock },
    knownCodes: { fca: knownFcaCodes, native: knownNativeCodes },
    logger: createLogger({ level: 'silent', secrets: [] }),
  }
  await checkTopics(parts, context.signal)
  const log = openKafkaLog({ ...parts, nativeKind: settings.native.kind })
  try {
    const end = await limited(
      READ_MS,
      context.signal,
      (signal) => log.end(signal),
      () => {
        throw new BridgeError(
          'kafka',
          `the topics of the prefix ${topics.prefix} could not be read in time`,
          {
            hint: 'Run bridge doctor: it names what is wrong with the cluster.',
          },
        )
      },
    )
    const { epoch: previousEpoch, sequence } = end
    const will = isDry ? 'would' : 'will'
    stderr(`the log of the prefix ${topics.prefix} ends with event ${sequence} of epoch ${previousEpoch}`)
    stderr(`a new epoch ${will} begin there; the events stay, and the next one has sequence ${sequence + 1}`)
    stderr(`readers with a cursor of another epoch ${will} get a gap event and read at least an hour again`)
    stderr('every bridge must be stopped now, and be of this version when it is started again')
    if (isDry) {
      if (json) stdout(JSON.stringify({ restored: false, epoch: null, previousEpoch, sequence }))
      return
    }
    const { epoch, absence } = await beginEpoch(log, options, context)
    const since = isoOrNull(absence.sinceMs)
    const { units } = absence
    if (json) {
      stdout(JSON.stringify({ restored: true, epoch, previousEpoch, sequence, since, units }))
    } else stdout(`restored: ${counted(sequence, 'event')}, now of epoch ${epoch}`)
    if (since !== null) stderr(`${counted(units, 'quota unit')} are counted as spent since ${since}`)
    stderr('start the bridges: each fills its replica again before it serves')
  } finally {
    await log.close()
  }
}

async function beginEpoch(
  log: KafkaLog,
  { settings: { plan, gatewayUnits, calendarFile }, kafka }: KafkaRestoreOptions,
  { clock, signal }: CommandContext,
): Promise<{ epoch: string; absence: Absence }> {
  const calendar = loadCalendar(calendarFile)
  const by = { plan: { ...plan, gatewayUnits }, calendar }
  let absence: Absence = { rows: new Map(), units: 0, sinceMs: null }
  const begin = (either: AbortSignal): Promise<string> =>
    log.beginEpoch((stored) => {
      absence = countAbsence(stored, by, { sinceMs: null, nowMs: clock.now() })
      return absence.rows
    }, either)
  const epoch = await limited(LEAD_MS, signal, begin, () => {
    throw new BridgeError('log_locked', `a bridge leads in the topics of the prefix ${kafka.topics.prefix}`, {
      hint: 'Stop every bridge with the role poller, then run bridge restore again.',
    })
  })
  return { epoch, absence }
}

/**
 * Throws what the claim would, so that a dry run promises nothing that it refuses.
 * @throws BridgeError `kafka` when the cluster cannot be reached, `failed` when a topic of the log is missing, `log_damaged`
 * when state and events disagree
 */
async function checkTopics(
  parts: Omit<Parameters<typeof inspectKafka>[0], 'polls'>,
  signal: AbortSignal,
): Promise<void> {
  const { prefix } = parts.topics
  const { missing, disagreement } = await inspectKafka({ ...parts, polls: false }, signal).catch(
    endOnKafkaFault,
  )
  const absent = NEEDED_TOPICS.map((topic) => `${prefix}.${topic}`).filter((name) => missing.includes(name))
  if (absent.length > 0) {
    const missed = `there is no log to continue: the cluster has no topic ${absent.join(', ')}`
    const hint =
      'Check BRIDGE_TOPIC_PREFIX and BRIDGE_KAFKA_BROKERS; the topics must be mirrored or put back first.'
    throw new BridgeError('failed', missed, { hint })
  }
  if (disagreement === null) return
  const hint = 'Run bridge repair first: it says what is lost, and asks before it changes anything.'
  throw new BridgeError('log_damaged', disagreementWords(disagreement), { hint })
}

/** The result of the work, or `onLate` after `limitMs`. */
async function limited<T>(
  limitMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  onLate: () => never,
): Promise<T> {
  const late = AbortSignal.timeout(limitMs)
  try {
    return await work(AbortSignal.any([signal, late]))
  } catch (error) {
    if (late.aborted && !signal.aborted) onLate()
    throw error
  }
}
