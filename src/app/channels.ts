/**
 * Lists every channel of the product for `/asyncapi.json`: Kafka topics, webhooks and streams.
 */
import type { ApiParts } from '../api/api.ts'
import type { Channel } from '../http/channel.ts'
import { statusMessages } from '../ingest/status-messages.ts'
import { kafkaChannels, topicsOfEvent } from '../log-kafka/channels.ts'
import type { KafkaSettings } from '../settings/kafka.ts'
import { docOf } from '../settings/schema.ts'
import type { Settings } from '../settings/settings.ts'
import { streamChannels } from '../streams/channels.ts'
import { webhookChannels } from '../webhooks/channels.ts'

/** The channels with the topics of these settings; null: no Kafka, so topics are shown with the default prefix. */
export function productChannels(topics: KafkaSettings['topics'] | null): Channel[] {
  return [
    ...kafkaChannels({ prefix: prefixOf(topics), settings: topics, status: statusMessages }),
    ...webhookChannels,
    ...streamChannels(),
  ]
}

/** The topics of each event. On Kafka only what is stored is true: a code may share a topic with others. */
export function topicsOfEvents({ kafka, native }: Pick<Settings, 'kafka' | 'native'>): ApiParts['topicsOf'] {
  const names = { prefix: prefixOf(kafka?.topics ?? null), nativeKind: native.kind }
  return (event, stored) =>
    kafka !== null && stored === undefined ? null : topicsOfEvent(event, stored, names)
}

function prefixOf(topics: KafkaSettings['topics'] | null): string {
  return topics?.prefix ?? docOf('BRIDGE_TOPIC_PREFIX').default ?? ''
}
