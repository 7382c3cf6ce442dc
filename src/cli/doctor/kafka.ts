/**
 * Checks the Kafka cluster of the settings: brokers, topics, replication and access rights. Creates and changes nothing.
 */
import { knownFcaCodes, knownNativeCodes } from '../../core/filter/categories.ts'
import { BridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import {
  disagreementWords,
  inspectKafka,
  type KafkaReport,
  lowReplication,
  type OtherSetting,
} from '../../log-kafka/inspect.ts'
import { LOST_EVENTS_ADVICE } from '../../log-kafka/repair.ts'
import { createLogger } from '../../obs/logger.ts'
import type { KafkaSettings } from '../../settings/kafka.ts'
import { hintForCommand } from '../terminal/kafka-fault.ts'
import { type Finding, fail, fine, warn } from './finding.ts'

const POLLER_TRIED =
  'to read events, join the leader election, write to every topic with the transactional id, and create topics; nothing was written'
const READER_TRIED = 'to read events; writing was not tested'
/** Names shown of a longer list. */
const MOST_NAMES = 3

/** Checks the cluster of the settings. Failures are findings; only an abort is thrown. */
export async function checkKafka(
  { kafka, polls }: { kafka: KafkaSettings | null; polls: boolean },
  clock: Clock,
  signal: AbortSignal,
): Promise<Finding[]> {
  if (kafka === null) return [fine('kafka', 'no brokers set: the embedded log is used')]
  const { topics, ...access } = kafka
  const options = {
    connection: { ...access, clientId: `${topics.prefix}@doctor` },
    ...{ topics, polls, clock },
    knownCodes: { fca: knownFcaCodes, native: knownNativeCodes },
    logger: createLogger({ level: 'silent', secrets: [] }),
  }
  try {
    return kafkaFindings(await inspectKafka(options, signal), polls)
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error
    const todo = hintForCommand(error.hint) ?? 'check that the brokers run'
    return [fail('kafka', error.message, todo, 'kafka')]
  }
}

/** The findings of a report; `polls`: the process has the role `poller`. */
export function kafkaFindings(report: KafkaReport, polls: boolean): Finding[] {
  const { brokers, silent, replication, present, others, refused, unread, creation, lostEvents } = report
  const missing = report.missing.filter((topic) => topic !== lostEvents)
  const found = [fine('kafka', brokers === 1 ? '1 broker answers' : `${brokers} brokers answer`)]
  const several = present
    .filter(({ partitions, shards }) => partitions !== 1 && !shards)
    .map(({ topic }) => topic)
  const behind = present.filter(({ inSync, replicas }) => inSync < replicas).map(({ topic }) => topic)
  const low = lowReplication(report)
  if (silent.length > 0) {
    const what = `these brokers hold topics and do not answer: ${silent.join(', ')}`
    found.push(warn('kafka', what, 'start them; what else fails here may come from that'))
  }
  if (report.disagreement !== null) {
    const what = disagreementWords(report.disagreement)
    found.push(fail('topics', what, 'stop every bridge of this prefix and run bridge repair', 'kafka'))
  }
  if (lostEvents !== null) {
    const what = `${lostEvents} is missing, with every event in it, but the state of the writer is there`
    found.push(fail('topics', what, LOST_EVENTS_ADVICE, 'kafka'))
  }
  if (several.length > 0) {
    const todo = 'choose another BRIDGE_TOPIC_PREFIX, or delete them if nothing in them is needed'
    found.push(fail('topics', `more than one partition: ${names(several)}`, todo, 'kafka'))
  }
  if (missing.length > 0 && replication > brokers) {
    const what = `replication ${replication} needs ${replication} brokers, and ${brokers} answer`
    found.push(fail('topics', what, 'start the others, or set BRIDGE_TOPIC_REPLICATION lower', 'kafka'))
  } else if (present.length === 0) {
    found.push(
      fine('topics', `none yet; the first start creates ${missing.length}, with replication ${replication}`),
    )
  } else if (missing.length > 0) {
    const todo =
      'start a bridge: it creates them, empty; so does the next leader (bridge admin step-down), except all, internal.state and internal.tables. If one of these existed before, restore it from a backup first: docs/run/kafka-disasters.md'
    found.push(warn('topics', `missing: ${names(missing)}`, todo))
  }
  if (low !== null) {
    const todo = 'use three brokers or more; kafka-reassign-partitions changes existing topics'
    found.push(warn('topics', `replication ${low}: events can be lost when a broker fails`, todo))
  }
  if (behind.length > 0) {
    found.push(warn('topics', `replicas behind: ${names(behind)}`, 'check the brokers'))
  }
  found.push(...settingFindings(others), ...refusalFindings(report.refusedSettings))
  for (const why of refused) {
    found.push(
      silent.length > 0
        ? fail('kafka', why, 'start the brokers that do not answer, and run doctor again', 'kafka')
        : fail('rights', why, 'give this user the rights of docs/run/kafka-security.md', 'kafka'),
    )
  }
  if (creation !== null) {
    const todo = 'allow Create on topics of the prefix; without it a new category is published to _other'
    found.push(missing.length > 0 ? fail('rights', creation, todo, 'kafka') : warn('rights', creation, todo))
  }
  if (unread !== null) {
    const todo = 'compare them with docs/run/on-kafka.md, or give this user DescribeConfigs'
    found.push(warn('topics', unread, todo))
  }
  if (refused.length === 0 && creation === null)
    found.push(fine('rights', polls ? POLLER_TRIED : READER_TRIED))
  if (found.every(({ level }) => level === 'ok') && present.length > 0) {
    found.push(fine('topics', `${present.length} as the settings say`))
  }
  return found
}

/** One finding per setting and value, for all topics that have it. */
function settingFindings(others: readonly OtherSetting[]): Finding[] {
  const groups = Map.groupBy(others, ({ name, found, expected }) => `${name} is ${found}, not ${expected}`)
  return [...groups].map(([what, group]) =>
    warn(
      'topics',
      `${what}: ${names(group.map(({ topic }) => topic))}`,
      'change it with kafka-configs --alter, or change the setting; a bridge does not change existing topics',
    ),
  )
}

/** One finding for the topics that would lack the same settings. */
function refusalFindings(refused: KafkaReport['refusedSettings']): Finding[] {
  const groups = Map.groupBy(refused, ({ settings }) => settings?.join(', ') ?? null)
  return [...groups].map(([settings, group]) => {
    const topics = names(group.map(({ topic }) => topic))
    const why = group[0]?.why ?? ''
    if (settings === null) {
      const todo =
        'change the policy of the cluster, or create the topics yourself: docs/run/on-kafka.md#settings'
      return fail('topics', `new topics are refused: ${topics}: ${why}`, todo, 'kafka')
    }
    const todo = 'allow them if you can; docs/run/on-kafka.md#settings says what is lost without'
    return warn(
      'topics',
      `the cluster refuses settings of new topics: ${settings} of ${topics}: ${why}`,
      todo,
    )
  })
}

function names(all: readonly string[]): string {
  const more = all.length > MOST_NAMES ? ` and ${all.length - MOST_NAMES} more` : ''
  return `${all.slice(0, MOST_NAMES).join(', ')}${more}`
}
