/**
 * Names the Kafka topics of the log, and chooses the topics that an event goes to by its category codes (for example
 * `fca.REN`). A code without a topic of its own shares the topic `_other` of its kind.
 */
import { DAY_MS, HOUR_MS } from '../../core/durations.ts'
import { isGap, itemOf, type NewEvent } from '../../core/event.ts'

/** Topics that exist from the start, by the part of their names after the prefix. */
export const ALL = 'all'
export const GAPS = 'gaps'
export const REJECTED = 'rejected'
export const STATUS = 'status'
export const STATE = 'internal.state'
export const TABLES = 'internal.tables'
export const LEADER = 'internal.leader'
export const REQUESTS = 'internal.questions'
export const RESPONSES = 'internal.answers'

/** Prefixes of the topics that are created at their first use. */
const SHARDS = 'internal.lanes.'
const JOURNAL = 'internal.journal.'

/** A topic to be created. */
export interface TopicPlan {
  /** The part of its name after the prefix. */
  topic: string
  partitions: number
  /** How long its records are kept, where that is not in the settings, ms. */
  retentionMs?: number
}

/** The plan of a topic with one partition. */
export function onePartition(topic: string): TopicPlan {
  return { topic, partitions: 1 }
}

/** The topic of the shards of that name, one partition each. */
export function shardsPlan(name: string, count: number): TopicPlan {
  return { topic: `${SHARDS}${name}`, partitions: count }
}

/** The topic of the journal of that name. */
export function journalPlan(name: string, retentionMs: number): TopicPlan {
  return { topic: `${JOURNAL}${name}`, partitions: 1, retentionMs }
}

/** True for the topic of shards. */
export function isShardsTopic(topic: string): boolean {
  return topic.startsWith(SHARDS)
}

/** True for the topic of a journal. */
export function isJournalTopic(topic: string): boolean {
  return topic.startsWith(JOURNAL)
}

/** True for the topic of a category code, and for the shared ones. */
export function isCodeTopic(topic: string): boolean {
  return topic.startsWith('fca.') || topic.startsWith('native.')
}

/** How long a compacted topic keeps tombstones, ms: `delete.retention.ms`, as Kafka's own default. */
export const TOMBSTONES_KEPT_MS = DAY_MS

/** Most topics of codes that are created in an hour, and that exist in all. */
export const NEW_TOPICS_AN_HOUR = 10
export const MOST_CODE_TOPICS = 500
/** Most choices that are stored; a further code shares a topic without one. */
export const MOST_CHOICES = 5_000

/** A topic's name has at most 249 characters. */
const LONGEST_CODE = 100
const OTHER = '_other'

/** Name of the topic in the cluster. */
export function topicName(prefix: string, topic: string): string {
  return `${prefix}.${topic}`
}

/** The kinds whose codes have topics. */
export type TopicKind = 'fca' | 'native'

/** The topic of a code, chosen when the code first came. */
export interface TopicChoice {
  /** True: the code's own topic; false: the `_other` topic of its kind. */
  own: boolean
  /** ms since 1970, our clock. */
  atMs: number
}

/** The topic that a code names, e.g. `fca.REN`. */
export function codeTopic(kind: TopicKind, code: string): string {
  return `${kind}.${code.replace(/[^A-Za-z0-9_-]/gu, '_')}`
}

/** The topic of codes without a topic of their own. */
export function otherTopic(kind: TopicKind): string {
  return `${kind}.${OTHER}`
}

/** Topics of these codes. */
export function codeTopics(codes: { fca: readonly string[]; native: readonly string[] }): Set<string> {
  return new Set([
    ...codes.fca.map((code) => codeTopic('fca', code)),
    ...codes.native.map((code) => codeTopic('native', code)),
  ])
}

/** Topics of the start that commits write to, and that can be made again: they hold copies of events, and rejected items. */
export const COPIES: readonly string[] = [GAPS, REJECTED, otherTopic('fca'), otherTopic('native')]

/** Topics of the start that no commit writes to, and that hold nothing for long. */
export const MOMENTARY: readonly string[] = [STATUS, LEADER, REQUESTS, RESPONSES]

/** Every topic that exists from the start, with the topics of known codes. */
export function startTopics(known: ReadonlySet<string>): string[] {
  return [ALL, ...COPIES, ...MOMENTARY, STATE, TABLES, ...known]
}

/** Every topic that an event's categories name, each once. Gap events name none. */
export function namedTopics(event: Pick<NewEvent, 'type' | 'data' | 'item'>, nativeKind: string): string[] {
  if (isGap(event.type)) return []
  const read = itemOf(event)
  if (!read.ok) return []
  const named = read.item.disclosure.categories.flatMap(({ kind, code }) => {
    if (kind === 'FCA') return [codeTopic('fca', code)]
    return kind === nativeKind ? [codeTopic('native', code)] : []
  })
  return [...new Set(named)]
}

/** The topics that exist when one is chosen. */
export interface TopicBook {
  /** Topics of codes that exist from the start. */
  known: ReadonlySet<string>
  choices: ReadonlyMap<string, TopicChoice>
}

/** The choice for a topic that an event names; null where it needs none, or there are too many. */
export function chooseTopic(book: TopicBook, named: string, nowMs: number): TopicChoice | null {
  const kept = book.choices.get(named)
  if (kept !== undefined) return kept
  if (book.known.has(named) || isOther(named) || book.choices.size >= MOST_CHOICES) return null
  const made = [...book.choices.values()].filter(({ own }) => own)
  const lately = made.filter(({ atMs }) => atMs > nowMs - HOUR_MS)
  const own =
    fits(named) && lately.length < NEW_TOPICS_AN_HOUR && book.known.size + made.length < MOST_CODE_TOPICS
  return { own, atMs: nowMs }
}

/** The topic of an event that names this one, by the choices made. */
export function placeOf(book: TopicBook, named: string): string {
  const own = book.choices.get(named)?.own ?? (book.known.has(named) || isOther(named))
  return own ? named : sharedTopic(named)
}

/** The shared topic of the kind that this topic of a code belongs to. */
export function sharedTopic(named: string): string {
  return otherTopic(named.startsWith('fca.') ? 'fca' : 'native')
}

function isOther(named: string): boolean {
  return named === otherTopic('fca') || named === otherTopic('native')
}

function fits(named: string): boolean {
  return named.length <= LONGEST_CODE
}
