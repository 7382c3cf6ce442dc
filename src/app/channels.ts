/**
 * Lists every channel of the product for `/asyncapi.json`: Kafka topics, webhooks and streams.
 */
import type { Channel } from '../http/channel.ts'
import { statusMessages } from '../ingest/status-messages.ts'
import { kafkaChannels } from '../log-kafka/channels.ts'
import type { KafkaSettings } from '../settings/kafka.ts'
import { docOf } from '../settings/schema.ts'
import { streamChannels } from '../streams/channels.ts'
import { webhookChannels } from '../webhooks/channels.ts'

/** The channels with the topics of these settings; null: no Kafka, so topics are shown with the default prefix. */
export function productChannels(topics: KafkaSettings['topics'] | null): Channel[] {
  const prefix = topics?.prefix ?? docOf('BRIDGE_TOPIC_PREFIX').default ?? ''
  return [
    ...kafkaChannels({ prefix, settings: topics, status: statusMessages }),
    ...webhookChannels,
    ...streamChannels(),
  ]
}
