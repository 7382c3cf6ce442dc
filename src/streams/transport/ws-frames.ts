/**
 * WebSocket text frames in the two subprotocols of contract §8. Owns the frame header (RFC 6455 §5.2), the messages'
 * shapes and their order of members. An event's own bytes are put between a head and a tail, never encoded again.
 * Refuses to know sockets and positions.
 */
import { randomUUID } from 'node:crypto'
import { isoMillis } from '../../core/dates.ts'
import { isGap } from '../../core/event.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { EventFraming, Framing } from '../fanout/framing.ts'

/** The subprotocols; the first is spoken also where none is offered or known. */
export const subprotocols = ['bridge.v1.json', 'cloudevents.json'] as const
export type Subprotocol = (typeof subprotocols)[number]

/** Messages that are no events. */
export type ControlName =
  | 'authenticated'
  | 'hello'
  | 'subscribed'
  | 'live'
  | 'heartbeat'
  | 'pong'
  | 'going_away'
  | 'error'

/** A framing that has control messages too. */
export interface MessageFraming extends Framing {
  control(name: ControlName, members: object): Buffer[]
}

/** What a heartbeat tells of the upstream. */
export interface UpstreamSign {
  /** ISO 8601; null before the first. */
  lastGoodPoll: string | null
  /** When the next poll is due; null on a node that does not poll. */
  nextPoll: string | null
  phase: string
}

export interface FramingParts {
  clock: Clock
  /** Asked at each heartbeat. */
  upstream: () => UpstreamSign
}

const FIN_TEXT = 0x81
const LENGTH_16 = 126
const LENGTH_64 = 127
const END = Buffer.from('}')

/** The pieces of one text frame whose payload is these pieces. */
export function textFrame(...payload: Buffer[]): Buffer[] {
  const length = payload.reduce((sum, piece) => sum + piece.length, 0)
  return [frameHead(length), ...payload]
}

function frameHead(length: number): Buffer {
  if (length < LENGTH_16) return Buffer.from([FIN_TEXT, length])
  if (length < 65_536) {
    const head = Buffer.from([FIN_TEXT, LENGTH_16, 0, 0])
    head.writeUInt16BE(length, 2)
    return head
  }
  const head = Buffer.alloc(10)
  head.writeUInt8(FIN_TEXT, 0)
  head.writeUInt8(LENGTH_64, 1)
  head.writeBigUInt64BE(BigInt(length), 2)
  return head
}

/** What gives a connection its framing: one for all that speak the first subprotocol, one each for the others. */
export function messageFramings(parts: FramingParts): (subprotocol: Subprotocol) => MessageFraming {
  const plain = framingOf(wrappedEvents, plainControl, parts)
  return (subprotocol) =>
    subprotocol === 'bridge.v1.json' ? plain : framingOf(bareEvents, controlEvents(parts.clock), parts)
}

function framingOf(
  shared: EventFraming,
  control: MessageFraming['control'],
  { upstream }: FramingParts,
): MessageFraming {
  return {
    shared,
    control,
    live: (cursor) => control('live', { cursor }),
    heartbeat(cursor) {
      const { lastGoodPoll, nextPoll, phase } = upstream()
      return control('heartbeat', { cursor, lastGoodPoll, nextPoll, phase })
    },
    goingAway: (reconnectInMs) => control('going_away', { reconnectInMs }),
  }
}

/** `{type, sent, event}`. */
const wrappedEvents: EventFraming = {
  name: 'wrapped',
  events(events, sentMs) {
    const [disclosure, gap] = [headOf('disclosure', sentMs), headOf('gap', sentMs)]
    return events.flatMap(({ type, json }) => textFrame(isGap(type) ? gap : disclosure, json, END))
  },
  localGap: ({ json }, sentMs) => textFrame(headOf('gap', sentMs), json, END),
}

function headOf(type: 'disclosure' | 'gap', sentMs: number): Buffer {
  return Buffer.from(`{"type":"${type}","sent":"${isoMillis(sentMs)}","event":`)
}

const bareEvents: EventFraming = {
  name: 'bare',
  events: (events) => events.flatMap(({ json }) => textFrame(json)),
  localGap: ({ json }) => textFrame(json),
}

function plainControl(name: ControlName, members: object): Buffer[] {
  return textFrame(Buffer.from(JSON.stringify({ type: name, ...members })))
}

/** Ids are unique beyond this connection. */
function controlEvents(clock: Clock): MessageFraming['control'] {
  const connectionId = randomUUID()
  let made = 0
  return (name, members) => {
    made += 1
    const event = {
      specversion: '1.0',
      id: `${name}:${connectionId}:${made}`,
      source: '/bridge',
      type: `bridge.${name}.v1`,
      time: isoMillis(clock.now()),
      datacontenttype: 'application/json',
      data: members,
    }
    return textFrame(Buffer.from(JSON.stringify(event)))
  }
}
