/**
 * Defines the messages of the WebSocket protocol `bridge.v1.json` and parses the server's (docs/use/streams.md of the bridge).
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

/** A plain filter with exclusions (`exclude`) and alternatives (`filters`, of which any may match). */
export interface Filter extends PlainFilter {
  exclude?: PlainFilter
  filters?: readonly PlainFilter[]
}

/** Where a stream starts: with new events, the oldest kept, after a cursor, at a time, with the last n that match. */
export type From = 'live' | 'earliest' | { after: string } | { since: string } | { tail: number }

/** Attributes of every event: CloudEvents 1.0 and the bridge's extensions. */
export interface Envelope {
  specversion: string
  /** The same when the event is sent again. After a change of epoch it may come with other content. */
  id: string
  source: string
  type: string
  /** ISO 8601, the upstream's. */
  time: string
  subject: string
  /** 20 digits; increases by one per event within an epoch. */
  sequence: string
  epoch: string
  /** Resume point after this event. */
  cursor: string
  /** When the bridge fetched it, ISO 8601. */
  recordedtime: string
  datacontenttype: string
}

/** An announcement, or a new version of one. `data` is the upstream's item, not validated: check a member before use. */
export interface DisclosureEvent extends Envelope {
  /** Published after an event with a later `time`. */
  late?: 'true'
  /** Upstream's present, ISO 8601, where `time` is more than a minute ahead of it. */
  aheadof?: string
  /** guid of the announcement that this one replaces. */
  replacesid?: string
  data: Readonly<Record<string, unknown>>
}

/** Items between `from` and `to` may be missing: opened, filled or given up, as `type` says. */
export interface GapEvent extends Envelope {
  data: {
    id: string
    from: string
    to: string
    /** `epoch` and `retention` describe a gap before this reader's start; the others are gaps of the log itself. */
    cause: 'overflow' | 'cursor_refused' | 'outage' | 'epoch' | 'retention' | (string & {})
    openedAt: string
    found: number
    closedAt: string | null
  }
}

/**
 * A message that carries an event or a resume point. `id`: that of its subscription, where it has one. `sent`: when the frame was built, ISO 8601. `json`: the event's text
 * exactly as the bridge wrote it, to forward, sign or store it unchanged (parsing and writing JSON can alter numbers).
 */
export type StreamMessage =
  | { type: 'disclosure'; id?: string; sent: string; event: DisclosureEvent; json: string }
  | { type: 'gap'; id?: string; sent: string; event: GapEvent; json: string }
  | { type: 'live'; id?: string; cursor: string }
  | HeartbeatMessage

/**
 * What the bridge's leader knows of the upstream, 15 s after the last message; null: the node has heard from no leader.
 * `asOf`: when the leader said so. What an earlier version of the bridge did not say is absent. All times ISO 8601.
 */
interface HeartbeatMessage {
  type: 'heartbeat'
  id?: string
  cursor: string
  lastGoodPoll: string | null
  nextPoll: string | null
  phase: string
  asOf?: string | null
  /** What upstream last did to the leader. */
  upstreamState?: 'ok' | 'throttled' | 'quota' | 'unauthorised' | 'failing' | 'waiting' | null
  openGaps?: number | null
  /** Units that are left this week. */
  quotaRemaining?: number | null
  leader?: string | null
  leaderSince?: string | null
}

/** A message about the connection itself, or the answer to a `subscribe` or `unsubscribe`. */
export type ControlMessage =
  | { type: 'hello'; epoch: string | null; oldest: number; latest: number; heartbeatMs: number }
  | { type: 'subscribed'; id?: string }
  | { type: 'unsubscribed' }
  | { type: 'going_away'; reconnectInMs: number }
  | { type: 'error'; code: number; name: string; detail: string }

/** A message that is ignored: an acknowledgement, or one of a newer bridge that this client does not know. */
export interface OtherMessage {
  type: 'other'
}

/** Interval of the bridge's heartbeats, ms; used where `hello` names none. */
export const USUAL_HEARTBEAT_MS = 15_000

type Members = Readonly<Record<string, unknown>>

/** Parses one text frame; null for one that is not of this protocol. Members that this client does not use are not checked. */
export function readMessage(text: string): StreamMessage | ControlMessage | OtherMessage | null {
  const message = objectOf(text)
  if (message === null || typeof message.type !== 'string') return null
  switch (message.type) {
    case 'disclosure':
    case 'gap':
      return hasPlace(message.event)
        ? ({ ...message, json: eventText(text, message.event) } as unknown as StreamMessage)
        : null
    case 'live':
    case 'heartbeat':
      return typeof message.cursor === 'string' ? (message as unknown as StreamMessage) : null
    case 'hello':
      return readHello(message)
    case 'subscribed':
      return { type: 'subscribed', ...(typeof message.id === 'string' && { id: message.id }) }
    case 'unsubscribed':
      return { type: 'unsubscribed' }
    case 'going_away':
      return { type: 'going_away', reconnectInMs: millis(message.reconnectInMs) ?? 0 }
    case 'error': {
      const { code, name, detail } = message
      return {
        type: 'error',
        code: typeof code === 'number' ? code : Number.NaN,
        name: textIn(name),
        detail: textIn(detail),
      }
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

/** What a bridge writes before the event, which is the last member. */
const BEFORE_EVENT = /^\{"type":"\w+",(?:"id":"(?:[^"\\]|\\.)*",)?"sent":"[^"\\]*","event":/

function eventText(text: string, event: unknown): string {
  const [before] = BEFORE_EVENT.exec(text) ?? []
  return before === undefined ? JSON.stringify(event) : text.slice(before.length, -1)
}

function hasPlace(event: unknown): boolean {
  return isObject(event) && typeof event.id === 'string' && typeof event.cursor === 'string'
}

/** The text; '' for any other value: `String` throws for an object without a primitive form. */
function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Null for a value that is not a delay. */
function millis(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null
}
