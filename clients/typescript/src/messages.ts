/**
 * What a bridge and its client say to each other (docs/use/streams.md of the bridge, WebSocket, `bridge.v1.json`). Owns the
 * shapes and the reading of a server's text. Refuses to act.
 */

/** Fields that are ANDed; inside a list any member does. Meaning and values: docs/use/filters.md of the bridge. */
export interface PlainFilter {
  isins?: readonly string[]
  /** Listing symbols. */
  symbols?: readonly string[]
  leis?: readonly string[]
  match?: 'issuer' | 'related' | 'exact'
  fcaCategories?: readonly string[]
  nativeCategories?: readonly string[]
  /** A list of levels, or `high+` for a level and those above. */
  importance?: readonly string[] | string
  /** Part of the headline, without case, 2 to 200 characters. */
  q?: string
  hasSymbol?: boolean
  types?: readonly ('published' | 'amended' | 'gap')[]
  preset?: string
}

/** A plain filter that may leave things out, and may ask for any of several. */
export interface Filter extends PlainFilter {
  exclude?: PlainFilter
  filters?: readonly PlainFilter[]
}

/** Where a stream begins: with what is new, the oldest kept, behind a cursor, at a time, with the last n that match. */
export type From = 'live' | 'earliest' | { after: string } | { since: string } | { tail: number }

/** What every event has, as CloudEvents 1.0 and the bridge's own attributes. */
export interface Envelope {
  specversion: string
  /** The same whenever the event comes again. */
  id: string
  source: string
  type: string
  /** ISO 8601, the upstream's. */
  time: string
  subject: string
  /** 20 digits; rises by one from event to event inside an epoch. */
  sequence: string
  epoch: string
  /** Resume point behind this event. */
  cursor: string
  /** When the bridge first held it, ISO 8601. */
  recordedtime: string
  datacontenttype: string
}

/** One announcement, or its next content. `data` is the upstream's item as it came: look before you trust a member. */
export interface DisclosureEvent extends Envelope {
  /** Came after an event with a later `time`. */
  late?: 'true'
  /** guid of the announcement that it replaces. */
  replacesid?: string
  data: Readonly<Record<string, unknown>>
}

/** Items between `from` and `to` may be missing: opened, filled or given up, as `type` says. */
export interface GapEvent extends Envelope {
  data: {
    id: string
    from: string
    to: string
    /** `epoch` and `retention` are told by a node for the hole before a reader's start; the others are of the log. */
    cause: 'overflow' | 'cursor_refused' | 'outage' | 'epoch' | 'retention' | (string & {})
    openedAt: string
    found: number
    closedAt: string | null
  }
}

/** A message that carries events or a place. `sent`: when the frame was built, ISO 8601. */
export type StreamMessage =
  | { type: 'disclosure'; sent: string; event: DisclosureEvent }
  | { type: 'gap'; sent: string; event: GapEvent }
  | { type: 'live'; cursor: string }
  | { type: 'heartbeat'; cursor: string; lastGoodPoll: string | null; nextPoll: string | null; phase: string }

/** A message about the connection itself. */
export type ControlMessage =
  | { type: 'hello'; epoch: string | null; oldest: number; latest: number; heartbeatMs: number }
  | { type: 'going_away'; reconnectInMs: number }
  | { type: 'error'; code: number; name: string; detail: string }

/** A message that needs no answer: of a kind that is only acknowledged, or that a later bridge has and this client not. */
export interface OtherMessage {
  type: 'other'
}

/** The bridge's own silence before a sign of life; taken where `hello` names none. */
export const USUAL_HEARTBEAT_MS = 15_000

type Members = Readonly<Record<string, unknown>>

/** Reads one text frame; null for what no bridge says. Members that this client does not look at pass unread. */
export function readMessage(text: string): StreamMessage | ControlMessage | OtherMessage | null {
  const message = objectOf(text)
  if (message === null || typeof message.type !== 'string') return null
  switch (message.type) {
    case 'disclosure':
    case 'gap':
      return hasPlace(message.event) ? (message as unknown as StreamMessage) : null
    case 'live':
    case 'heartbeat':
      return typeof message.cursor === 'string' ? (message as unknown as StreamMessage) : null
    case 'hello':
      return readHello(message)
    case 'going_away':
      return { type: 'going_away', reconnectInMs: millis(message.reconnectInMs) ?? 0 }
    case 'error': {
      const { code, name, detail } = message
      return { type: 'error', code: Number(code), name: String(name), detail: String(detail) }
    }
    default:
      return { type: 'other' }
  }
}

function readHello({ epoch, oldest, latest, heartbeatMs }: Members): ControlMessage {
  return {
    type: 'hello',
    epoch: typeof epoch === 'string' ? epoch : null,
    oldest: Number(oldest),
    latest: Number(latest),
    heartbeatMs: millis(heartbeatMs) ?? USUAL_HEARTBEAT_MS,
  }
}

function objectOf(text: string): Members | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Members {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function hasPlace(event: unknown): boolean {
  return isObject(event) && typeof event.id === 'string' && typeof event.cursor === 'string'
}

/** Null for what is no delay. */
function millis(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null
}
