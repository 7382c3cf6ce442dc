/**
 * What the doctor says of Kafka. Owns the advice. Refuses to make or change a topic.
 */
import { knownFcaCodes, knownNativeCodes } from '../../core/filter/categories.ts'
import { BridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { inspectKafka, type KafkaReport, lowReplication, type OtherSetting } from '../../log-kafka/inspect.ts'
import { createLogger } from '../../obs/logger.ts'
import type { KafkaSettings } from '../../settings/kafka.ts'
import { type Finding, fine } from './finding.ts'

const POLLER_TRIED =
  'to read events, stand for leader, write with the transactional id to every topic, and make topics; nothing was written'
const READER_TRIED = 'to read events; writing its tables was not tried'
/** Names shown of a longer list. */
const MOST_NAMES = 3

/** Looks at the cluster that the settings choose. What it does is a finding; nothing is thrown but an abort. */
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
    return [finding('fail', 'kafka', error.message, error.hint ?? 'see that the brokers run')]
  }
}

/** What a report means to a process that polls, or does not. */
export function kafkaFindings(report: KafkaReport, polls: boolean): Finding[] {
  const { brokers, replication, present, missing, others, refused, unread, creation } = report
  const found = [fine('kafka', brokers === 1 ? '1 broker answers' : `${brokers} brokers answer`)]
  const several = present
    .filter(({ partitions, shards }) => partitions !== 1 && !shards)
    .map(({ topic }) => topic)
  const behind = present.filter(({ inSync, replicas }) => inSync < replicas).map(({ topic }) => topic)
  const low = lowReplication(report)
  if (several.length > 0) {
    const todo = 'choose another BRIDGE_TOPIC_PREFIX, or delete them if nothing in them is needed'
    found.push(finding('fail', 'topics', `more than one partition: ${names(several)}`, todo))
  }
  if (missing.length > 0 && replication > brokers) {
    const what = `replication ${replication} needs as many brokers, ${brokers} answer`
    found.push(finding('fail', 'topics', what, 'start the others, or set BRIDGE_TOPIC_REPLICATION lower'))
  } else if (present.length === 0) {
    found.push(
      fine('topics', `none yet; the first start makes ${missing.length}, replication ${replication}`),
    )
  } else if (missing.length > 0) {
    const todo = 'start a bridge: it makes them. If they were there, restore them from a backup first'
    found.push(finding('warn', 'topics', `missing: ${names(missing)}`, todo))
  }
  if (low !== null) {
    const todo = 'use three brokers or more; to change topics that are there: kafka-reassign-partitions'
    found.push(
      finding('warn', 'topics', `replication ${low}: no promise against the death of a broker`, todo),
    )
  }
  if (behind.length > 0) {
    found.push(finding('warn', 'topics', `replicas behind: ${names(behind)}`, 'look at the brokers'))
  }
  found.push(...settingFindings(others))
  for (const why of refused) {
    found.push(finding('fail', 'rights', why, 'give this user the rights of docs/run/kafka-security.md'))
  }
  if (creation !== null) {
    const todo = 'give it Create on topics of the prefix; without it a new category shares _other'
    found.push(finding(missing.length > 0 ? 'fail' : 'warn', 'rights', creation, todo))
  }
  if (unread !== null) {
    const todo = 'compare them with docs/run/operating.md yourself, or give this user DescribeConfigs'
    found.push(finding('warn', 'topics', unread, todo))
  }
  if (refused.length === 0 && creation === null)
    found.push(fine('rights', polls ? POLLER_TRIED : READER_TRIED))
  if (found.every(({ level }) => level === 'ok') && present.length > 0) {
    found.push(fine('topics', `${present.length} as the settings say`))
  }
  return found
}

/** One finding for each setting and value, however many topics have it. */
function settingFindings(others: readonly OtherSetting[]): Finding[] {
  const groups = Map.groupBy(others, ({ name, found, expected }) => `${name} is ${found}, not ${expected}`)
  return [...groups].map(([what, group]) =>
    finding(
      'warn',
      'topics',
      `${what}: ${names(group.map(({ topic }) => topic))}`,
      'change it with kafka-configs --alter, or the setting; a bridge changes no topic that is there',
    ),
  )
}

function names(all: readonly string[]): string {
  const more = all.length > MOST_NAMES ? ` and ${all.length - MOST_NAMES} more` : ''
  return `${all.slice(0, MOST_NAMES).join(', ')}${more}`
}

function finding(level: 'warn' | 'fail', name: string, what: string, todo: string): Finding {
  return { level, name, finding: what, todo, area: 'kafka' }
}
