/** Loads the AsyncAPI document of the product as readers get it, and resolves its references. */
import { asyncApiDocument } from '../../../src/api/asyncapi/document.ts'
import { productChannels } from '../../../src/app/channels.ts'
import type { KafkaSettings } from '../../../src/settings/kafka.ts'

interface Reference {
  $ref: string
}

/** One kind of message. */
export interface AsyncApiMessage {
  name: string
  contentType: string
  headers?: { properties: Record<string, unknown>; required: string[] }
  payload: object
  bindings?: { kafka?: { key: object } }
}

/** The document, as far as tests look into it. */
export interface AsyncApi {
  asyncapi: string
  servers: Record<string, object>
  channels: Record<
    string,
    {
      address?: string
      messages: Record<string, Reference>
      bindings?: { kafka?: { partitions: number; topicConfiguration?: Record<string, unknown> } }
      'x-close-codes'?: Record<string, { meaning: string; comeBack: string }>
    }
  >
  operations: Record<string, { action: string; messages: Reference[]; reply?: { messages: Reference[] } }>
  components: { schemas: Record<string, object>; messages: Record<string, AsyncApiMessage> }
}

/** Topics of the tests. */
export const TOPICS: KafkaSettings['topics'] = {
  prefix: 'desk',
  replication: null,
  retentionMs: 3_600_000,
  allRetentionMs: null,
}

/** The document, by way of JSON. */
export function productDocument(topics: KafkaSettings['topics'] | null = TOPICS): AsyncApi {
  return JSON.parse(JSON.stringify(asyncApiDocument(productChannels(topics)))) as AsyncApi
}

/** The target of a reference's pointer; undefined if there is none. */
export function partAt(document: unknown, pointer: string): unknown {
  const [start, ...names] = pointer.split('/')
  if (start !== '#') return undefined
  return names.reduce<unknown>(
    (part, name) =>
      (part as Record<string, unknown> | undefined)?.[name.replace(/~1/g, '/').replace(/~0/g, '~')],
    document,
  )
}

/** Every reference inside, with repeats. */
export function referencesIn(part: unknown): string[] {
  if (part === null || typeof part !== 'object') return []
  return Object.entries(part).flatMap(([name, value]) =>
    name === '$ref' && typeof value === 'string' ? [value] : referencesIn(value),
  )
}

/** Names of the messages that the bridge sends, or receives, on a channel. */
export function namesOf(document: AsyncApi, channel: string, action: 'send' | 'receive'): string[] {
  return Object.values(document.operations)
    .filter((operation) => operation.action === action)
    .flatMap(({ messages }) => messages.map(({ $ref }) => $ref))
    .filter((pointer) => pointer.startsWith(`#/channels/${channel}/messages/`))
    .map((pointer) => pointer.slice(`#/channels/${channel}/messages/`.length))
}
