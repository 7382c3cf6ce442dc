/**
 * Runs `bridge repair`: makes the topic of the writer's state agree with the topic of all events again. It says beforehand
 * what is lost, and asks.
 */
import type { Committed, Gap } from '../../core/event.ts'
import { knownFcaCodes, knownNativeCodes } from '../../core/filter/categories.ts'
import { BridgeError } from '../../errors.ts'
import { countAbsence } from '../../ingest/writer-state/absence.ts'
import { repairCommit } from '../../ingest/writer-state/repair-commit.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Log } from '../../log/log.ts'
import { type KafkaLogOptions, openKafkaLog } from '../../log-kafka/log.ts'
import { type ComparedTopics, compareTopics } from '../../log-kafka/repair.ts'
import { createLogger } from '../../obs/logger.ts'
import { loadCalendar } from '../../settings/calendar-file.ts'
import { loadSettings, type Settings } from '../../settings/settings.ts'
import { command } from '../terminal/command.ts'
import { confirm } from '../terminal/confirm.ts'
import type { CommandContext } from '../terminal/context.ts'
import { endOnKafkaFault } from '../terminal/kafka-fault.ts'
import { counted } from '../terminal/text.ts'

const flags = { yes: { type: 'boolean' }, json: { type: 'boolean' } } as const

const HELP = `For a mirror or a restored cluster whose two topics end at different events, so that no bridge starts
(log_damaged). Stop every bridge of the prefix first. It shows what is lost and asks before it writes.
  --yes    does not ask; needed without a terminal
  --json   what was done, as one line of JSON

After events were lost the log begins a new epoch: readers are told and resume an hour before. What was
lost is fetched from the upstream again, as far as it still answers for that time. If both topics agree
and a mirror takes over, run bridge restore.`

const SPEC = {
  name: 'repair',
  does: 'makes the topics <prefix>.all and <prefix>.internal.state agree again (docs/run/on-kafka.md)',
  help: HELP,
  flags,
} as const

/** What is wrong, and what a repair does about it. */
interface Plan {
  /** Events that only the state knows: they are lost. */
  lost: number
  /** Events that only the topic of all events has: they are counted. */
  unknown: number
}

/** Repairs, after consent. Rejects with a BridgeError when nothing was changed. */
export const repairCommand = command(SPEC, async ({ values }, context) => {
  const options = optionsOf(loadSettings(context.env), context.clock)
  const found = await compareTopics(options.log, context.signal).catch(endOnKafkaFault)
  const plan = planFor(found)
  if (plan === null) {
    const done = { repaired: false, sequence: found.state?.sequence ?? 0, epoch: found.state?.epoch ?? null }
    return context.stdout(
      values.json === true ? JSON.stringify(done) : 'nothing to repair: both topics agree',
    )
  }
  if (found.candidates > 0) {
    const running = `${counted(found.candidates, 'bridge')} of this prefix ${found.candidates === 1 ? 'runs' : 'run'}`
    throw new BridgeError('failed', `${running}, so nothing was changed`, {
      hint: 'Stop every bridge first. One that was killed counts for six more seconds.',
    })
  }
  for (const line of consequences(found, plan)) context.stderr(line)
  if (values.yes !== true) {
    await confirm('Repair?', { input: process.stdin, output: process.stderr }, context.signal)
  }
  const done = await repair(options, found, plan, context)
  context.stdout(values.json === true ? JSON.stringify({ repaired: true, ...plan, ...done }) : doneLine(done))
})

/** Null where there is nothing to do. @throws BridgeError `log_damaged` where the state is missing altogether */
function planFor({ state, last }: ComparedTopics): Plan | null {
  if (state === null) {
    if (last === 0) return null
    throw new BridgeError('log_damaged', 'the topic of the state is empty, but there are events', {
      hint: 'Nobody knows what was read and spent. Restore both topics from one backup, or begin a new BRIDGE_TOPIC_PREFIX.',
    })
  }
  const end = last ?? state.sequence
  const lost = Math.max(0, state.sequence - end)
  const unknown = Math.max(0, end - state.sequence)
  return lost + unknown > 0 ? { lost, unknown } : null
}

/** What a person should know before. */
function consequences({ state, last, lastEvent }: ComparedTopics, { lost, unknown }: Plan): string[] {
  const lines = [
    `the state of the writer names event ${state?.sequence} as the last; the events end with ${last ?? 'none, all were dropped by age'}`,
  ]
  if (lost > 0) {
    const from = lastEvent === null ? 'the beginning' : lastEvent.time
    lines.push(
      `${counted(lost, 'event')} after ${from} ${lost === 1 ? 'is' : 'are'} lost: the bridge opens a gap and fetches again what the upstream still has`,
    )
  }
  if (unknown > 0) {
    lines.push(
      `no event is lost, only what the writer noted with the last ${counted(unknown, 'event')}: counts of the day, pending re-scans`,
      'the upstream is polled from an older cursor; what is published already is recognised',
    )
  }
  lines.push('the time since the last request counts against the quota, as if polled at the plan’s pace')
  if (lost > 0) {
    lines.push(
      'the log begins a new epoch: readers and webhooks are told and get the last hour again, and every node fills its replica again',
    )
  }
  return lines
}

/** What was done. */
interface Done {
  epoch: string
  sequence: number
  gap: Gap | null
  /** Units counted against the quota. */
  units: number
}

function doneLine({ epoch, sequence, gap }: Done): string {
  const opened = gap === null ? '' : `, with a gap from ${gap.from} that the bridges will fill`
  return `repaired: epoch ${epoch} ends with event ${sequence}${opened}. Start the bridges again.`
}

async function repair(
  options: RepairOptions,
  found: ComparedTopics,
  { lost, unknown }: Plan,
  { clock, signal }: CommandContext,
): Promise<Done> {
  const log = openKafkaLog(options.log)
  try {
    const before = found.state?.sequence ?? 0
    let done: Omit<Done, 'epoch' | 'sequence'> = { gap: null, units: 0 }
    const place = await log.repair(async (corrected) => {
      if (corrected.sequence !== before - lost + unknown) {
        throw new BridgeError('failed', 'the topics have changed meanwhile, so nothing was changed', {
          hint: 'Stop every bridge of this prefix, and run it again.',
        })
      }
      const nowMs = clock.now()
      const absence = countAbsence(corrected, options.plannedBy, { sinceMs: null, nowMs })
      const { commit, gap } = repairCommit(corrected, {
        unknown: await eventsAfter(log, before, unknown, signal),
        lost: lost === 0 ? null : found,
        nowMs,
      })
      done = { gap, units: absence.units }
      return { ...commit, rows: new Map([...(commit.rows ?? []), ...absence.rows]) }
    }, signal)
    return { ...place, ...done }
  } finally {
    await log.close()
  }
}

async function eventsAfter(
  log: Log,
  after: number,
  count: number,
  signal: AbortSignal,
): Promise<Committed[]> {
  const events: Committed[] = []
  if (count === 0) return events
  const ended = new AbortController()
  for await (const batch of log.follow(after, AbortSignal.any([signal, ended.signal]))) {
    events.push(...batch)
    if (events.length >= count) ended.abort()
  }
  signal.throwIfAborted()
  return events
}

/** What a repair needs of the settings. */
interface RepairOptions {
  log: KafkaLogOptions
  /** How the poller would have polled meanwhile. */
  plannedBy: Parameters<typeof countAbsence>[1]
}

function optionsOf(settings: Settings, clock: Clock): RepairOptions {
  const { kafka, native, plan, gatewayUnits, calendarFile } = settings
  if (kafka === null) {
    throw new BridgeError(
      'settings',
      'BRIDGE_KAFKA_BROKERS is not set, and only topics in Kafka can disagree',
      {
        hint: 'Set the brokers of the cluster to repair. For the embedded log see bridge restore.',
      },
    )
  }
  const { topics, ...access } = kafka
  const log = {
    connection: { ...access, clientId: `${topics.prefix}@repair` },
    ...{ topics, clock, nativeKind: native.kind },
    knownCodes: { fca: knownFcaCodes, native: knownNativeCodes },
    logger: createLogger({ level: 'silent', secrets: [] }),
  }
  return { log, plannedBy: { plan: { ...plan, gatewayUnits }, calendar: loadCalendar(calendarFile) } }
}
