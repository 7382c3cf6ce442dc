/**
 * Defines the data with which each part of the product describes its channels for `/asyncapi.json`. A channel is a
 * Kafka topic, a stream path or a webhook receiver, with its messages.
 */
import type { z } from 'zod'

/** Where channels are: brokers, this bridge's listener over either protocol, or a receiver of webhooks. */
export type ChannelServer = 'kafka' | 'websocket' | 'http' | 'receiver'

/** What AsyncAPI says of one protocol alone: by the name of its binding, members as the binding's page has them. */
export type Bindings = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** One kind of message. */
export interface ChannelMessage {
  /** Its own in the channel: letters, digits, `.`, `_` and `-`. */
  name: string
  /** When it is sent and what it means. */
  summary: string
  contentType: string
  /** Members beside the payload, by name. */
  headers?: z.ZodType
  payload: z.ZodType
  bindings?: Bindings
}

/** A message of a client with the names of the messages that answer it. */
export interface TakenMessage extends ChannelMessage {
  answers: readonly string[]
}

/** One channel: a topic, a path, or the URL of a receiver. */
export interface Channel {
  /** Its own in the document: letters, digits, `.`, `_` and `-`. */
  key: string
  server: ChannelServer
  /** Parts that differ stand in braces; null: known only while it runs. */
  address: string | null
  title: string
  /** Sentences of the docs. */
  description: string
  /** Of the parts of the address that differ. */
  parameters?: Readonly<Record<string, { description: string; examples: readonly string[] }>>
  bindings?: Bindings
  /** Members that begin with `x-`, for what AsyncAPI has no place for. */
  extensions?: Readonly<Record<`x-${string}`, unknown>>
  /** What the bridge sends on it, and how. */
  sends: { messages: readonly ChannelMessage[]; description: string; bindings?: Bindings }
  /** What the bridge takes from a client. */
  takes?: readonly TakenMessage[]
}
