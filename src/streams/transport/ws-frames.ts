/**
 * Encodes events and control messages as WebSocket text frames in both subprotocols. The JSON of an event is
 * placed between a prefix and a suffix and never encoded again.
 */
import { randomUUID } from 'node:crypto'
import { isoMillis } from '../../core/dates.ts'
import { isGap } from '../../core/event.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { EventFraming, Framing, UpstreamSnapshot } from '../fanout/framing.ts'

/** The subprotocols. The first is also used where the client offers none that is known. */
export const subprotocols = ['bridge.v1.json', 'cloudevents.json'] as const
/** One of the subprotocols. */
export type Subprotocol = (typeof subprotocols)[number]

/** The messages besides events. */
export type ControlName =
  | 'authenticated'
  | 'hello'
  | 'subscribed'
  | 'unsubscribed'
  | 'live'
  | 'heartbeat'
  | 'pong'
  | 'going_away'
  | 'error'

/** A framing with control messages. */
export interface MessageFraming extends Framing {
  /** The frame of a control message with these members. */
  control(name: ControlName, members: object): Buffer[]
  /**
   * The framing of a subscription, whose frames carry this id; null: this one, without an id. `isFirst`: bare events of it
   * stay as they are stored.
   */
  forSubscription(id: string | null, isFirst: boolean): Framing
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
  eventsOf: (id: string | null, isFirst: boolean) => EventFraming,
  control: MessageFraming['control'],
  { upstream }: FramingParts,
): MessageFraming {
  const goingAway = (reconnectInMs: number): Buffer[] => control('going_away', { reconnectInMs })
  const forSubscription = (id: string | null, isFirst: boolean): Framing => {
    const about = id === null ? {} : { id }
    return {
      shared: eventsOf(id, isFirst),
      live: (cursor) => control('live', { ...about, cursor }),
      beatsAlways: false,
      heartbeat: (cursor) => control('heartbeat', { ...about, cursor, ...upstream() }),
      goingAway,
    }
  }
  const withoutId = forSubscription(null, true)
  return {
    ...withoutId,
    control,
    forSubscription: (id, isFirst) => (id === null ? withoutId : forSubscription(id, isFirst)),
  }
}

/** Messages of the form `{type, id, sent, event}`; without the id of a subscription that has none. */
function wrappedEvents(id: string | null): EventFraming {
  const about = id === null ? '' : `"id":${JSON.stringify(id)},`
  const headOf = (type: 'disclosure' | 'gap', sentMs: number): Buffer =>
    Buffer.from(`{"type":"${type}",${about}"sent":"${isoMillis(sentMs)}","event":`)
  return {
    name: id === null ? 'wrapped' : `wrapped ${JSON.stringify(id)}`,
    events(events, sentMs) {
      const [disclosure, gap] = [headOf('disclosure', sentMs), headOf('gap', sentMs)]
      return events.flatMap(({ type, json }) => textFrame(isGap(type) ? gap : disclosure, json, END))
    },
  }
}

/** Events as they are stored, of other subscriptions than the first with the extension attribute `subscriptionid`. */
function bareEvents(id: string | null, isFirst: boolean): EventFraming {
  if (id === null || isFirst)
    return { name: 'bare', events: (events) => events.flatMap(({ json }) => textFrame(json)) }
  const head = Buffer.from(`{"subscriptionid":${JSON.stringify(id)},`)
  return {
    name: `bare ${JSON.stringify(id)}`,
    events: (events) => events.flatMap(({ json }) => textFrame(head, json.subarray(1))),
  }
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
