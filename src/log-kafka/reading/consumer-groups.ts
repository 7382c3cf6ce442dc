/**
 * Lists the consumer groups that have committed a position in a topic of events, with their lag in events and in time. The
 * number of requests to the cluster is bounded: it may have thousands of groups.
 */
import type { Admin } from 'kafkajs'
import { parseTimestamp } from '../../core/dates.ts'
import { isBridgeError } from '../../errors.ts'
import type {
  ConsumerGroup,
  ConsumerGroups,
  ConsumerPage,
  GroupState,
  TopicLag,
} from '../../log/consumers.ts'
import type { LogParts } from '../client/connection.ts'
import { isForbidden, unavailable } from '../client/faults.ts'
import type { PartitionClient } from '../client/kafkajs-internals.ts'
import { headerOf, topicSequenceOf } from '../client/records.ts'
import { withTimeout } from '../client/with-timeout.ts'
import { ALL, GAPS, isCodeTopic, topicName } from '../topics/topics.ts'
import { firstRecord, newest } from './offset-lookup.ts'

/** Most groups of the cluster whose positions are asked for in a page. */
export const MOST_EXAMINED = 200
/** A page ends with the group whose topics reach this number. */
const MOST_TOPICS = 500
/** Requests to the cluster at a time. */
const AT_ONCE = 10
const LIMIT_MS = 20_000
/** Sentences about what could not be read. */
const MOST_PROBLEMS = 3
const OTHER_GROUPS = 'Groups'
const NEEDS_RIGHT = 'Kafka shows a group only to users with the right Describe on it.'
/** No group: asking for it shows whether any group may be asked for. */
const NOBODY = 'nobody-a-bridge-asks-for'

/** A group's position in each topic of events that it reads. */
interface Positions {
  group: string
  offsets: Map<string, number>
}

/**
 * A page of the groups, without those of the bridge itself.
 * @throws the signal's reason; BridgeError `log_unavailable`, `log_damaged`
 */
export async function listConsumerGroups(
  { openSession, clock }: Pick<LogParts, 'openSession' | 'clock'>,
  prefix: string,
  page: ConsumerPage,
  signal: AbortSignal,
): Promise<ConsumerGroups> {
  const session = openSession()
  const admin = session.kafka.admin()
  const problems = new Set<string>()
  const parts = { admin, partitions: session.partitions, prefix, nowMs: clock.now(), problems }
  try {
    return await withTimeout(clock, LIMIT_MS, signal, readPage(parts, page))
  } catch (error) {
    signal.throwIfAborted()
    if (isBridgeError(error, 'log_damaged')) throw error
    throw unavailable('listing consumer groups', error)
  } finally {
    session.end()
  }
}

interface Parts {
  admin: Admin
  partitions: PartitionClient
  prefix: string
  nowMs: number
  /** What could not be read, as sentences. */
  problems: Set<string>
}

async function readPage(parts: Parts, { after, limit }: ConsumerPage): Promise<ConsumerGroups> {
  const { admin, prefix, problems } = parts
  await admin.connect()
  const { groups } = await admin.listGroups()
  const names = [...new Set(groups.map(({ groupId }) => groupId))]
    .filter((name) => !isOwn(prefix, name) && name > (after ?? ''))
    .sort()
  const { found, last } = await positionsOf(parts, names.slice(0, MOST_EXAMINED), limit)
  const described = await describe(parts, found)
  const lags = await lagsOf(parts, found)
  await noting(parts, OTHER_GROUPS, positionsIn(parts, NOBODY))
  return {
    groups: found.map(({ group, offsets }) => ({
      ...{ group, ...(described.get(group) ?? UNKNOWN) },
      topics: [...offsets].map(([topic, offset]) => ({
        topic,
        ...(lags.get(placeOf(topic, offset)) ?? { events: null, ms: null }),
      })),
    })),
    next: last !== null && names.some((name) => name > last) ? last : null,
    incomplete: problems.size === 0 ? null : [...problems].slice(0, MOST_PROBLEMS).join(' '),
  }
}

/** The groups of the bridge: those that elect the leader and share out the shards. */
function isOwn(prefix: string, group: string): boolean {
  return group === `${prefix}.leader` || group.startsWith(`${prefix}.lanes.`)
}

/** The first groups with positions, up to the bounds of a page; `last` was the last one examined. */
async function positionsOf(
  parts: Parts,
  names: readonly string[],
  limit: number,
): Promise<{ found: Positions[]; last: string | null }> {
  const found: Positions[] = []
  let topics = 0
  let last: string | null = null
  for (let from = 0; from < names.length; from += AT_ONCE) {
    const some = names.slice(from, from + AT_ONCE)
    const answers = await Promise.all(
      some.map((name) => noting(parts, OTHER_GROUPS, positionsIn(parts, name))),
    )
    for (const [at, answer] of answers.entries()) {
      if (found.length === limit || topics >= MOST_TOPICS) return { found, last }
      last = some[at] ?? last
      if (answer === null || answer.offsets.size === 0) continue
      found.push(answer)
      topics += answer.offsets.size
    }
  }
  return { found, last }
}

async function positionsIn({ admin, prefix }: Parts, group: string): Promise<Positions> {
  const committed = await admin.fetchOffsets({ groupId: group })
  const offsets = new Map<string, number>()
  for (const { topic, partitions } of committed) {
    const own = topic.startsWith(topicName(prefix, '')) ? topic.slice(topicName(prefix, '').length) : ''
    const offset = Number(partitions.find(({ partition }) => partition === 0)?.offset ?? -1)
    if (offset >= 0 && (own === ALL || own === GAPS || isCodeTopic(own))) offsets.set(topic, offset)
  }
  return { group, offsets }
}

/** What the request results in; null where it fails, which is noted as the reason why that is missing. */
async function noting<T>({ problems }: Parts, missing: string, request: Promise<T>): Promise<T | null> {
  try {
    return await request
  } catch (error) {
    if (isBridgeError(error, 'log_damaged')) throw error
    const why = unavailable('asking', error).message
    problems.add(`${missing} may be missing. ${why}. ${isRefusal(error) ? NEEDS_RIGHT : 'Ask again later.'}`)
    return null
  }
}

/** kafkajs says no more than that there is no coordinator where a broker refuses a group to this user. */
function isRefusal(error: unknown): boolean {
  return isForbidden(error) || (error instanceof Error && error.name === 'KafkaJSGroupCoordinatorNotFound')
}

const UNKNOWN: Pick<ConsumerGroup, 'state' | 'members'> = { state: null, members: null }

/** States by the names of Kafka's protocol. Groups of the newer protocol are unknown to the older request: `Dead`. */
const STATES: Readonly<Record<string, GroupState>> = {
  Stable: 'stable',
  Empty: 'empty',
  PreparingRebalance: 'rebalancing',
  CompletingRebalance: 'rebalancing',
}

async function describe(
  parts: Parts,
  found: readonly Positions[],
): Promise<Map<string, Pick<ConsumerGroup, 'state' | 'members'>>> {
  if (found.length === 0) return new Map()
  const names = found.map(({ group }) => group)
  const answer = await noting(parts, 'States of groups', parts.admin.describeGroups(names))
  return new Map(
    answer?.groups.map(({ groupId, state, members }) => {
      const known = STATES[state] ?? null
      return [groupId, known === null ? UNKNOWN : { state: known, members: members.length }]
    }),
  )
}

function placeOf(topic: string, offset: number): string {
  return `${topic} ${offset}`
}

/** The lag behind each position, by `placeOf`. Groups that are at the same one share it. */
async function lagsOf(
  parts: Parts,
  found: readonly Positions[],
): Promise<Map<string, Omit<TopicLag, 'topic'>>> {
  const offsets = new Map<string, Set<number>>()
  for (const group of found) {
    for (const [topic, offset] of group.offsets) {
      offsets.set(topic, (offsets.get(topic) ?? new Set()).add(offset))
    }
  }
  const lags = new Map<string, Omit<TopicLag, 'topic'>>()
  const topics = [...offsets]
  for (let from = 0; from < topics.length; from += AT_ONCE) {
    const some = topics.slice(from, from + AT_ONCE)
    await Promise.all(
      some.map(([topic, places]) =>
        noting(parts, `The lag in ${topic}`, readLags(parts, topic, places, lags)),
      ),
    )
  }
  return lags
}

/** Offsets count more than events: each transaction takes one for its marker. So the records themselves are read. */
async function readLags(
  { partitions, nowMs, problems }: Parts,
  topic: string,
  places: ReadonlySet<number>,
  lags: Map<string, Omit<TopicLag, 'topic'>>,
): Promise<void> {
  const { earliest, lastStable, end } = await partitions.offsets(topic)
  let lastSequence: number | null = null
  for (const offset of places) {
    if (offset < earliest || offset > end) {
      problems.add(`A position in ${topic} is outside of what the topic keeps: its lag is not known.`)
      continue
    }
    const next = await firstRecord(partitions, topic, offset, lastStable)
    if (next === null) {
      lags.set(placeOf(topic, offset), { events: 0, ms: 0 })
      continue
    }
    lastSequence ??= (await newest(partitions, topic, { limit: 1 }, topicSequenceOf))[0] ?? null
    const sequence = topicSequenceOf(next)
    const heldMs = parseTimestamp(headerOf(next, 'ce_recordedtime') ?? '')
    const isEvent = lastSequence !== null && sequence !== null && heldMs !== null
    lags.set(placeOf(topic, offset), {
      events: isEvent ? Math.max(1, (lastSequence ?? 0) - (sequence ?? 0) + 1) : null,
      ms: isEvent ? Math.max(0, nowMs - (heldMs ?? nowMs)) : null,
    })
  }
}
