/**
 * Describes the public Kafka topics for the AsyncAPI document that this program publishes: names, keys, headers, values and
 * retention.
 */
import { z } from 'zod'
import { disclosureTypes, gapTypes, isGap, type NewEvent } from '../core/event.ts'
import { waysFound } from '../core/purpose.ts'
import type { Channel, ChannelMessage } from '../http/channel.ts'
import { disclosureSchema, eventSchema, gapSchema } from '../http/schemas/event-schema.ts'
import { isoTime, jsonSchema } from '../http/schemas/json-schema.ts'
import { type TopicSettings, topicConfig } from './topics/topic-setup.ts'
import {
  ALL,
  codeTopic,
  GAPS,
  namedTopics,
  otherTopic,
  REJECTED,
  STATUS,
  type TopicKind,
  topicName,
} from './topics/topics.ts'

/** What is described. */
export interface DescribedTopics {
  prefix: string
  /** The settings of new topics; null where the log is not on Kafka: then no retention is described. */
  settings: TopicSettings | null
  /** The messages of the status topic. */
  status: readonly ChannelMessage[]
}

type OwnParts = Pick<Channel, 'title' | 'description' | 'parameters' | 'sends'>

const BINDING = '0.5.0'
const READ = 'Read it with `read_committed`; docs/use/kafka-consumers.md has recipes.'
const TOGETHER = 'In one transaction with the same event in its other topics.'

/** Every public topic. */
export function kafkaChannels({ prefix, settings, status }: DescribedTopics): Channel[] {
  const channel = (topic: string, own: OwnParts): Channel => ({
    key: `kafka.${topic.replace('.{code}', '')}`,
    server: 'kafka',
    address: topicName(prefix, topic),
    bindings: {
      kafka: { partitions: 1, ...(settings && kept(topic, settings)), bindingVersion: BINDING },
    },
    ...own,
  })
  return [
    channel(ALL, {
      title: 'Every event',
      description: `Every event, gaps included, in one order. ${READ}`,
      sends: {
        messages: [disclosureRecord, gapRecord],
        description: 'The items of one poll and of its fill are one transaction.',
      },
    }),
    channel(`fca.{code}`, categoryTopic('fca', 'Events of one FCA category', ['FR', 'NAV'])),
    channel(
      `native.{code}`,
      categoryTopic('native', "Events of one of the service's own categories", ['DD']),
    ),
    channel(GAPS, {
      title: 'Gap events',
      description: `The gap events again: they are in no category topic, so who reads those reads this beside them. ${READ}`,
      sends: { messages: [gapRecord], description: TOGETHER },
    }),
    channel(REJECTED, {
      title: 'Items that could not be read',
      description: `What upstream sent without a readable identity or time, as it came. ${READ}`,
      sends: { messages: [rejectedItem], description: 'In one transaction with what came beside it.' },
    }),
    channel(STATUS, {
      title: 'How the bridge is',
      description: 'Distinguishes an idle night from a dead feed. Kept a day; only the newest counts.',
      sends: { messages: status, description: 'By the process that leads, outside of transactions.' },
    }),
  ]
}

/**
 * Names in the cluster of the topics that hold an event, beside that of all those in `stored`; where that is absent, those
 * that its categories name.
 */
export function topicsOfEvent(
  event: Pick<NewEvent, 'type' | 'data'>,
  stored: readonly string[] | undefined,
  { prefix, nativeKind }: { prefix: string; nativeKind: string },
): string[] {
  const own = stored ?? (isGap(event.type) ? [GAPS] : namedTopics(event, nativeKind))
  return [ALL, ...own].map((topic) => topicName(prefix, topic))
}

function categoryTopic(kind: TopicKind, title: string, codes: readonly string[]): OwnParts {
  const other = otherTopic(kind).slice(`${kind}.`.length)
  return {
    title,
    description: `The events that have the category, in the order of the topic of all. ${READ}`,
    parameters: {
      code: {
        description: `The code, with \`_\` for every character outside \`A-Z a-z 0-9 _ -\`. \`${other}\` holds the codes that have no topic of their own.`,
        examples: [...codes.map((code) => codeTopic(kind, code).slice(`${kind}.`.length)), other],
      },
    },
    sends: { messages: [disclosureRecord], description: TOGETHER },
  }
}

/** The retention settings of a topic. */
function kept(topic: string, settings: TopicSettings): object {
  const config = topicConfig(topic, settings, 1)
  const policy = config['cleanup.policy']
  return {
    topicConfiguration: { 'cleanup.policy': [policy], 'retention.ms': Number(config['retention.ms']) },
  }
}

const disclosureRecord: ChannelMessage = {
  ...eventRecordOf(disclosureTypes),
  name: 'disclosure',
  summary: 'One announcement: an item as upstream gave it, or later content of the same item.',
  payload: disclosureSchema,
}

const gapRecord: ChannelMessage = {
  ...eventRecordOf(gapTypes),
  name: 'gap',
  summary: 'A gap was opened, filled or given up.',
  payload: gapSchema,
}

/** A CloudEvent in binary mode: its attributes are headers, its data is the value. */
function eventRecordOf(
  types: readonly string[],
): Pick<ChannelMessage, 'contentType' | 'headers' | 'bindings'> {
  const key = jsonSchema(z.string().describe('The `ce_subject`.'))
  return {
    contentType: 'application/json',
    headers: eventHeaders(types),
    bindings: { kafka: { key, bindingVersion: BINDING } },
  }
}

function eventHeaders(types: readonly string[]) {
  const { data: _value, datacontenttype, ...attributes } = eventSchema.shape
  return z.object({
    'content-type': datacontenttype,
    ...Object.fromEntries(Object.entries(attributes).map(([name, schema]) => [`ce_${name}`, schema])),
    ce_type: z.enum(types).describe('The type of the event; more may come.'),
    ce_topicsequence: z.string().meta({
      description: 'Place in this topic, without a hole inside an epoch: 1, 2, 3 …',
      pattern: '^[1-9][0-9]*$',
    }),
    traceparent: z
      .string()
      .optional()
      .describe(
        'W3C trace context of the poll that brought the item, where the bridge records traces; not of gap events.',
      ),
    foundby: z
      .enum(waysFound)
      .optional()
      .describe('Only in the topic of all, and not of gap events: how the item was found.'),
    journey: z
      .string()
      .optional()
      .describe(
        'Only in the topic of all, and not of gap events: which request brought the item. No contract.',
      ),
    topics: z
      .string()
      .optional()
      .describe('Only in the topic of all: the other topics that hold the event, without prefix, by commas.'),
  })
}

const rejectedItem: ChannelMessage = {
  name: 'rejected',
  summary: 'One item that could not be read.',
  contentType: 'application/octet-stream',
  headers: z.object({
    reason: z.string().describe('Why it could not be read.'),
    guid: z.string().optional().describe('Its guid, where it has one.'),
    recordedtime: isoTime('When the bridge first held it.'),
    hash: z
      .string()
      .optional()
      .describe(
        'Only where the item is longer than the topic accepts, so that its end is missing: what identifies all of it.',
      ),
  }),
  payload: z.string().describe('The bytes of the item.'),
  bindings: {
    kafka: {
      key: { type: ['string', 'null'], description: 'Its guid, where it has one.' },
      bindingVersion: BINDING,
    },
  },
}
