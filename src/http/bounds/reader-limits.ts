/** Creates the limits that streams and pulls share: places in all, per address and per token, and memory for answers. */
import type { IncomingMessage } from 'node:http'
import {
  type ConnectionSlots,
  createConnectionSlots,
  createTokenSlots,
  type TokenSlots,
} from './connection-slots.ts'
import { ReceiveBuffers } from './receive-buffers.ts'
import type { ClientAddress } from './remote-address.ts'
import { SendBuffers } from './send-buffers.ts'
import { TickGate } from './tick-gate.ts'

/** The limits of a node. */
export interface ReaderLimits {
  /** Places for the streams of both transports, and for pulls that wait or read. */
  readonly connectionSlots: ConnectionSlots
  readonly tokenSlots: TokenSlots
  /** The key under which the client's address is counted; null where it is not. */
  readonly addressOf: (request: IncomingMessage) => string | null
  /** The same also where it is not counted; empty where the address cannot be read. */
  readonly remoteOf: (request: IncomingMessage) => string
  readonly sendBuffers: SendBuffers
  /** What clients have begun to send: bodies and messages of WebSockets. */
  readonly receiveBuffers: ReceiveBuffers
  /** Spreads pages of pulls that are asked for at one moment. */
  readonly tickGate: TickGate
}

/** What the limits are made of. */
export interface ReaderLimitOptions {
  /** Most streams and pulls at a time. */
  maxClients: number
  /** Most of one token, 1,000 by default. */
  maxPerToken?: number
  clientOf: (request: IncomingMessage) => ClientAddress | null
}

const MAX_PER_TOKEN = 1000

/** The limits, with every place free. */
export function createReaderLimits(options: ReaderLimitOptions): ReaderLimits {
  return {
    connectionSlots: createConnectionSlots(options.maxClients),
    tokenSlots: createTokenSlots(options.maxPerToken ?? MAX_PER_TOKEN),
    addressOf(request) {
      const client = options.clientOf(request)
      return client === null || client.isOwn ? null : client.key
    },
    remoteOf: (request) => options.clientOf(request)?.key ?? '',
    sendBuffers: new SendBuffers(),
    receiveBuffers: new ReceiveBuffers(),
    tickGate: new TickGate(),
  }
}
