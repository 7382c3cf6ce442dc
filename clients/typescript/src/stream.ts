/**
 * Follows a bridge's event stream as an async iterable and reconnects from the last received event. The reader stores the
 * cursor if reading shall continue in another process.
 */
import { type Chance, type Clock, sleep, systemChance, systemClock } from './clock.ts'
import { type Answer, openConnection, type RunningConnection, type SocketConstructor } from './connection.ts'
import { createInbox, type Inbox } from './inbox.ts'
import type { StreamMessage } from './messages.ts'
import { cursorOf, type Kept, type Subscription, Subscriptions } from './subscriptions.ts'
import {
  type ConnectionEnd,
  delayMs,
  type EndCause,
  failureOf,
  StreamFailure,
  TicketDelay,
} from './verdict.ts'

/** What the reader receives, in order of arrival. */
export type Message =
  | StreamMessage
  /** A connection was made. `oldest`, `latest`: sequences of the first and the last event that the bridge holds. */
  | { type: 'connected'; epoch: string | null; oldest: number; latest: number }
  /** It ended. The next attempt follows after `retryInMs`, or, where that is null, when the reader has caught up. */
  | {
      type: 'disconnected'
      cause: EndCause
      why: string
      closeCode: number | null
      retryInMs: number | null
    }

/**
 * `connecting` · `catching_up`: receiving earlier events · `live`: receiving new events · `waiting`: between two
 * connections · `paused`: disconnected until a reader that is slower than the stream has caught up · `closed`: ended by
 * `close` or by a failure.
 */
export type StreamState = 'connecting' | 'catching_up' | 'live' | 'waiting' | 'paused' | 'closed'

/** A stream to loop over, once: `for await (const message of stream)`. Ends after `close`, throws `StreamFailure`. */
export interface Stream extends AsyncIterable<Message> {
  /** State of the connection; the reader may be behind it. */
  readonly state: StreamState
  /**
   * Resume point after the messages whose loop iteration has finished. Store it and pass it as `from: { after: cursor }`
   * to continue in another process. Null before the first. It is that of the subscription without an id.
   */
  readonly cursor: string | null
  /** The resume points of subscriptions with an id, by id; not of those that `unsubscribe` ended. */
  readonly cursors: Readonly<Record<string, string>>
  /**
   * Adds a subscription, or changes the one of this id (without an id: the stream's own) in place. Without `from` a
   * changed one continues after the last message received: no event that its new filter wants is left out or repeated.
   * @throws RangeError for more than 16
   */
  subscribe(subscription: Subscription & { id?: string }): void
  /** Ends the subscription of this id; what the client holds of it already still comes. The last one ends the stream. */
  unsubscribe(id: string): void
  /** Ends the loop and the connection; callable twice. */
  close(): void
}

interface Common {
  /** Address of the bridge, with or without `/v1/stream`; `http`, `https`, `ws` or `wss`. */
  url: string
  /** Ends the stream as `close` does. */
  signal?: AbortSignal
  /** Most text that is buffered for the reader, in characters; default 8,000,000. */
  bufferChars?: number
  /** How many events of a subscription are remembered, by id and content, to drop repeats; default 10,000. */
  rememberedIds?: number
  /** For a platform without WebSocket, or for tests. */
  WebSocket?: SocketConstructor
  /** For tests. */
  clock?: Clock
  /** For tests. */
  chance?: Chance
}

/** What is followed: events of one filter, or several subscriptions by id, whose messages carry that `id`. */
type Followed =
  | (Subscription & { subscriptions?: undefined })
  | {
      subscriptions: Readonly<Record<string, Subscription>>
      filter?: undefined
      from?: undefined
      onGap?: undefined
    }

/**
 * A token, or a function that fetches a ticket for each connection (`POST /v1/tickets`), so that a page never holds the
 * token. Its signal aborts when the stream is closed. If it rejects, it is called again after a wait; throw
 * `TicketDelay` to choose the wait, and `StreamFailure` to end the stream.
 */
type Credential =
  | { token: string; ticket?: undefined }
  | { ticket: (signal: AbortSignal) => Promise<string>; token?: undefined }

/** Address, credential and what is followed. */
export type ConnectOptions = Common & Followed & Credential

const BUFFER_CHARS = 8_000_000
const REMEMBERED_IDS = 10_000
const TICKET_MS = 30_000
/** What a message without text (`connected`, `disconnected`) counts in the inbox. */
const OWN_MESSAGE_CHARS = 200

/** A message on its way to the reader; `of` is the subscription whose place it moves. */
type Received = { message: StreamMessage; of: Kept } | { message: Message; of: null }

/**
 * Starts following at once.
 * @throws TypeError for an invalid address, for neither token nor ticket, for empty `subscriptions` and for a filter or start
 * beside them, and on a platform without WebSocket; RangeError for more than 16 subscriptions
 */
export function connect(options: ConnectOptions): Stream {
  return new FollowedStream(options)
}

class FollowedStream implements Stream {
  readonly #options: ConnectOptions
  readonly #open: SocketConstructor
  readonly #url: URL
  readonly #clock: Clock
  readonly #chance: Chance
  readonly #inbox: Inbox<Received>
  readonly #subscriptions: Subscriptions
  readonly #ended = new AbortController()
  readonly #messages: AsyncGenerator<Message>
  #state: StreamState = 'connecting'
  #failure: unknown = null
  #connection: RunningConnection | null = null
  /** Connections in a row without a message. */
  #useless = 0
  #wasRefusedTicket = false

  constructor(options: ConnectOptions) {
    this.#options = options
    this.#open = options.WebSocket ?? platformWebSocket()
    this.#url = streamUrl(options.url)
    if (typeof options.token !== 'string' && typeof options.ticket !== 'function') {
      throw new TypeError('connect needs a token, or a function `ticket` that fetches one')
    }
    this.#clock = options.clock ?? systemClock
    this.#chance = options.chance ?? systemChance
    this.#inbox = createInbox(options.bufferChars ?? BUFFER_CHARS)
    this.#subscriptions = subscriptionsOf(options)
    options.signal?.addEventListener('abort', this.#onAbort)
    this.#messages = this.#read()
    this.#follow().then(
      () => this.#end(),
      (failure: unknown) => this.#fail(failure),
    )
    if (options.signal?.aborted === true) this.close()
  }

  get state(): StreamState {
    return this.#state
  }

  get cursor(): string | null {
    return this.#subscriptions.cursor
  }

  get cursors(): Readonly<Record<string, string>> {
    return this.#subscriptions.cursors
  }

  subscribe({ id, ...subscription }: Subscription & { id?: string }): void {
    this.#subscriptions.set(id, subscription)
    if (this.#state === 'live') this.#state = 'catching_up'
    this.#connection?.sendCommands()
  }

  unsubscribe(id: string): void {
    if (!this.#subscriptions.delete(id)) return
    if (this.#subscriptions.isEmpty) this.#end()
    else this.#connection?.sendCommands()
  }

  readonly #onAbort = (): void => this.close()

  close(): void {
    this.#inbox.end(true)
    this.#end()
  }

  [Symbol.asyncIterator](): AsyncIterator<Message> {
    return this.#messages
  }

  async *#read(): AsyncGenerator<Message> {
    try {
      for (;;) {
        const received = await this.#inbox.next()
        if (received === null) break
        const { message, of } = received
        yield message
        // The reader asks for the next message, so it has finished this one.
        if (of !== null) of.finished = cursorOf(message)
      }
      if (this.#failure !== null) throw this.#failure
    } finally {
      this.close()
    }
  }

  /** Connects until closed. Rejects with a failure that reconnecting cannot fix. */
  async #follow(): Promise<void> {
    const { signal } = this.#ended
    while (!signal.aborted) {
      this.#state = 'connecting'
      this.#useless += 1
      const end = await this.#connectOnce()
      if (signal.aborted) return
      const isFull = this.#inbox.isFull
      const failure = failureOf(end)
      if (failure !== null && !this.#mayTakeNewTicket(failure)) throw failure
      const retryInMs = isFull ? null : delayMs(end, this.#useless, this.#chance)
      this.#state = isFull ? 'paused' : 'waiting'
      this.#push({
        type: 'disconnected',
        cause: end.cause,
        why: end.error?.detail ?? end.why,
        closeCode: end.closeCode,
        retryInMs,
      })
      await (retryInMs === null ? this.#inbox.room() : sleep(this.#clock, retryInMs, signal))
    }
  }

  async #connectOnce(): Promise<ConnectionEnd> {
    const { token = null } = this.#options
    const url = new URL(this.#url)
    const ticket = token === null ? await this.#ticket() : null
    if (typeof ticket === 'object' && ticket !== null) return ticket
    if (ticket !== null) url.searchParams.set('ticket', ticket)
    const connection = openConnection({
      open: this.#open,
      url: url.href,
      token,
      nextCommand: () => this.#subscriptions.next(),
      clock: this.#clock,
      signal: this.#ended.signal,
      onMessage: (message, chars) => this.#onMessage(message, chars),
    })
    this.#connection = connection
    return await connection.ended.finally(() => {
      this.#connection = null
    })
  }

  /** A ticket for one connection, or how it ended without one. */
  async #ticket(): Promise<string | ConnectionEnd> {
    const { ticket } = this.#options
    if (ticket === undefined) return withoutTicket('the option `ticket` is missing')
    const enough = new AbortController()
    const waiting = AbortSignal.any([enough.signal, this.#ended.signal])
    const late = sleep(this.#clock, TICKET_MS, waiting).then(() => withoutTicket('no ticket came in 30 s'))
    try {
      return await Promise.race([ticket(this.#ended.signal), late])
    } catch (error) {
      if (error instanceof StreamFailure) throw error
      const why = error instanceof Error ? error.message : 'something that is no Error was thrown'
      return withoutTicket(`no ticket: ${why}`, error instanceof TicketDelay ? error.retryInMs : null)
    } finally {
      enough.abort()
    }
  }

  /** A ticket is valid for seconds: after one that expired, a second one is tried before the stream fails. */
  #mayTakeNewTicket(failure: StreamFailure): boolean {
    const may =
      failure.code === 'unauthenticated' && this.#options.ticket !== undefined && !this.#wasRefusedTicket
    this.#wasRefusedTicket = may
    return may
  }

  /** False closes the connection. */
  #onMessage(message: StreamMessage | Answer, chars: number): boolean {
    this.#wasRefusedTicket = false
    if (message.type === 'hello') {
      const { epoch, oldest, latest } = message
      this.#subscriptions.connected()
      this.#state = 'catching_up'
      this.#push({ type: 'connected', epoch, oldest, latest })
      return true
    }
    if (message.type === 'subscribed') {
      this.#subscriptions.answered(message.id)
      return true
    }
    const of = this.#subscriptions.take(message)
    if (of === null) return true
    this.#useless = 0
    if (this.#subscriptions.areLive) this.#state = 'live'
    this.#inbox.push({ message, of }, chars)
    return !this.#inbox.isFull
  }

  #push(message: Message): void {
    this.#inbox.push({ message, of: null }, OWN_MESSAGE_CHARS)
  }

  #fail(failure: unknown): void {
    this.#failure = failure
    this.#end()
  }

  #end(): void {
    this.#state = 'closed'
    this.#options.signal?.removeEventListener('abort', this.#onAbort)
    this.#ended.abort()
    this.#inbox.end(false)
  }
}

/** @throws TypeError for a filter or start beside `subscriptions` */
function subscriptionsOf({
  subscriptions,
  filter,
  from,
  onGap,
  rememberedIds = REMEMBERED_IDS,
}: ConnectOptions): Subscriptions {
  const all = new Subscriptions(rememberedIds)
  const own = Object.entries({ filter, from, onGap }).filter(([, value]) => value !== undefined)
  if (subscriptions === undefined) all.set(undefined, Object.fromEntries(own))
  else if (own.length > 0) throw new TypeError(`${own[0]?.[0]} belongs into one of the subscriptions`)
  for (const [id, subscription] of Object.entries(subscriptions ?? {})) all.set(id, subscription)
  if (all.isEmpty) throw new TypeError('`subscriptions` names none')
  return all
}

function withoutTicket(why: string, reconnectInMs: number | null = null): ConnectionEnd {
  return { closeCode: null, cause: 'unreachable', why, error: null, reconnectInMs }
}

function platformWebSocket(): SocketConstructor {
  const { WebSocket } = globalThis as unknown as { WebSocket?: SocketConstructor }
  if (WebSocket !== undefined) return WebSocket
  throw new TypeError(
    'this platform has no WebSocket (Node has one since version 22); pass one as the option WebSocket',
  )
}

/** @throws TypeError for text that is not an http, https, ws or wss address */
function streamUrl(text: string): URL {
  const url = new URL(text)
  url.hash = ''
  url.protocol = url.protocol.replace(/^http/, 'ws')
  if (!/^wss?:$/.test(url.protocol)) throw new TypeError(`${text} is not an http, https, ws or wss address`)
  if (!url.pathname.endsWith('/v1/stream')) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/stream`
  return url
}
