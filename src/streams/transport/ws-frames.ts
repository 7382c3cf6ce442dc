/**
 * Encodes events and control messages as WebSocket text frames in both subprotocols. The JSON of an event is
 * placed between a prefix and a suffix and never encoded again.
 */
import { randomUUID } from 'node:crypto'
import { isoMillis } from '../../core/dates.ts'
import { isGap } from '../../core/event.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { EventFraming, Framing } from '../fanout/framing.ts'

/** The subprotocols. The first is also used where the client offers none that is known. */
export const subprotocols = ['bridge.v1.json', 'cloudevents.json'] as const
/** One of the subprotocols. */
export type Subprotocol = (typeof subprotocols)[number]

/** The messages besides events. */
export type ControlName =
  | 'authenticated'
  | 'hello'
  | 'subscribed'
  | 'live'
  | 'heartbeat'
  | 'pong'
  | 'going_away'
  | 'error'

/** A framing with control messages. */
export interface MessageFraming extends Framing {
  /** The frame of a control message with these members. */
  control(name: ControlName, members: object): Buffer[]
}

/** The state of the upstream in a heartbeat, as the leader reports it; null: not known to this node. */
export interface UpstreamSnapshot {
  /** Time of the last successful poll, ISO 8601. */
  lastGoodPoll: string | null
  /** When the leader polls next. */
  nextPoll: string | null
  /** When the leader said so, by its clock. */
  asOf: string | null
  /** The phase of the London trading day. */
  phase: string
}

/** What framings need. */
export interface FramingParts {
  clock: Clock
  /** Called for each heartbeat. */
  upstream: () => UpstreamSnapshot
}

const FIN_TEXT = 0x81
const LENGTH_16 = 126
const LENGTH_64 = 127
const END = Buffer.from('}')

/** A text frame (RFC 6455 §5.2) with this payload, as pieces to be concatenated. */
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

/** Returns the framing for a subprotocol: one shared by all connections of the first, a new one each for the others. */
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
      const { lastGoodPoll, nextPoll, phase, asOf } = upstream()
      return control('heartbeat', { cursor, lastGoodPoll, nextPoll, phase, asOf })
    },
    goingAway: (reconnectInMs) => control('going_away', { reconnectInMs }),
  }
}

/** Messages of the form `{type, sent, event}`. */
const wrappedEvents: EventFraming = {
  name: 'wrapped',
  events(events, sentMs) {
    const [disclosure, gap] = [headOf('disclosure', sentMs), headOf('gap', sentMs)]
    return events.flatMap(({ type, json }) => textFrame(isGap(type) ? gap : disclosure, json, END))
  },
}

function headOf(type: 'disclosure' | 'gap', sentMs: number): Buffer {
  return Buffer.from(`{"type":"${type}","sent":"${isoMillis(sentMs)}","event":`)
}

const bareEvents: EventFraming = {
  name: 'bare',
  events: (events) => events.flatMap(({ json }) => textFrame(json)),
}

function plainControl(name: ControlName, members: object): Buffer[] {
  return textFrame(Buffer.from(JSON.stringify({ type: name, ...members })))
}

/** CloudEvents whose ids are unique across connections. */
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
