/**
 * A bridge's stream, followed over as many connections as it takes. Owns the place: where the next connection begins, and
 * what the reader has dealt with. Refuses to keep the place beyond the process: the reader does.
 */
import { type Chance, type Clock, sleep, systemChance, systemClock } from './clock.ts'
import { type ConnectionOptions, type Hello, runConnection, type SocketConstructor } from './connection.ts'
import { createInbox, type Inbox } from './inbox.ts'
import type { Filter, From, StreamMessage } from './messages.ts'
import { createSeen, type Seen } from './seen.ts'
import { type ConnectionEnd, delayMs, failureOf, StreamFailure } from './verdict.ts'

/** What the reader gets, in the order in which it came. */
export type Message =
  | StreamMessage
  /** A connection stands. `latest`: sequence of the newest event there. */
  | { type: 'connected'; epoch: string | null; oldest: number; latest: number }
  /** It ended; the next one is tried after `retryInMs`, or, where that is null, when the reader has caught up. */
  | { type: 'disconnected'; why: string; closeCode: number | null; retryInMs: number | null }

/**
 * `connecting` · `catching_up`: what was published before comes in · `live`: what comes is new · `waiting`: between two
 * connections · `paused`: the reader is slower than the stream, and the connection is given up until he has caught up ·
 * `closed`: over, by `close` or by a failure.
 */
export type StreamState = 'connecting' | 'catching_up' | 'live' | 'waiting' | 'paused' | 'closed'

/** A stream to loop over, once: `for await (const message of stream)`. Ends after `close`, throws `StreamFailure`. */
export interface Stream extends AsyncIterable<Message> {
  /** Of the connection; the reader may be behind it. */
  readonly state: StreamState
  /**
   * Resume point behind every message dealt with: those whose turn of the loop is over. Keep it, and give it as
   * `from: { after: cursor }` to go on in another process. Null before the first.
   */
  readonly cursor: string | null
  /** Ends the loop and the connection; callable twice. */
  close(): void
}

interface Common {
  /** The bridge, or its stream: `http`, `https`, `ws` and `wss` are understood, `/v1/stream` may be left out. */
  url: string
  /** Which events; all of them where it is left out. */
  filter?: Filter
  /** Where the first connection begins; `live` where it is left out. */
  from?: From
  /** `earliest`: a cursor that is too old begins at the oldest event kept, behind a `gap`, instead of failing. */
  onGap?: 'earliest'
  /** Most text that waits for the reader, in characters; 8,000,000 where it is left out. */
  bufferChars?: number
  /** So many of the last event ids are remembered to drop repeats; 10,000 where it is left out. */
  rememberedIds?: number
  /** Where the platform has no WebSocket, or for tests. */
  WebSocket?: SocketConstructor
  /** For tests. */
  clock?: Clock
  /** For tests. */
  chance?: Chance
}

/**
 * A token, or something that gets a ticket for each connection (`POST /v1/tickets`), so that a page never holds the token.
 * A ticket that is not to be had is tried again like a connection; throw `StreamFailure` to end the stream.
 */
export type ConnectOptions = Common &
  ({ token: string; ticket?: never } | { ticket: () => Promise<string>; token?: never })

const BUFFER_CHARS = 8_000_000
const REMEMBERED_IDS = 10_000
const TICKET_MS = 30_000
/** Weight of a message of this client's own in the inbox. */
const OWN_MESSAGE_CHARS = 200

/**
 * Begins to follow at once.
 * @throws TypeError for options that cannot work: no address, neither token nor ticket, no WebSocket on this platform
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
  readonly #inbox: Inbox<Message>
  readonly #seen: Seen
  readonly #ended = new AbortController()
  readonly #messages: AsyncGenerator<Message>
  #state: StreamState = 'connecting'
  #failure: unknown = null
  /** Behind the last message that came: the next connection begins here. */
  #received: string | null = null
  /** Behind the last message dealt with. */
  #cursor: string | null = null
  /** Connections in a row that brought nothing. */
  #useless = 0
  #wasRefusedTicket = false

  constructor(options: ConnectOptions) {
    this.#options = options
    this.#open = options.WebSocket ?? platformWebSocket()
    this.#url = streamUrl(options.url)
    if (typeof options.token !== 'string' && typeof options.ticket !== 'function') {
      throw new TypeError('connect needs a token, or a function ticket that gets a ticket')
    }
    this.#clock = options.clock ?? systemClock
    this.#chance = options.chance ?? systemChance
    this.#inbox = createInbox(options.bufferChars ?? BUFFER_CHARS)
    this.#seen = createSeen(options.rememberedIds ?? REMEMBERED_IDS)
    this.#messages = this.#read()
    this.#follow().then(
      () => this.#end(),
      (failure: unknown) => this.#fail(failure),
    )
  }

  get state(): StreamState {
    return this.#state
  }

  get cursor(): string | null {
    return this.#cursor
  }

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
        const message = await this.#inbox.next()
        if (message === null) break
        yield message
        // Asked for the next one: this one is dealt with.
        this.#cursor = cursorOf(message) ?? this.#cursor
      }
      if (this.#failure !== null) throw this.#failure
    } finally {
      this.close()
    }
  }

  /** Connects again and again. Rejects with what trying again does not help. */
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
        why: end.error?.detail ?? end.why,
        closeCode: end.closeCode,
        retryInMs,
      })
      await (retryInMs === null ? this.#inbox.room() : sleep(this.#clock, retryInMs, signal))
    }
  }

  async #connectOnce(): Promise<ConnectionEnd> {
    const { token = null, filter, from, onGap } = this.#options
    const url = new URL(this.#url)
    const ticket = token === null ? await this.#ticket() : null
    if (ticket instanceof Error)
      return { closeCode: null, why: ticket.message, error: null, reconnectInMs: null }
    if (ticket !== null) url.searchParams.set('ticket', ticket)
    const start = this.#received === null ? from : { after: this.#received }
    const connection: ConnectionOptions = {
      open: this.#open,
      url: url.href,
      token,
      // What is undefined is left out of JSON.
      subscription: { filter, from: start, onGap },
      clock: this.#clock,
      signal: this.#ended.signal,
      onMessage: (message, chars) => this.#onMessage(message, chars),
    }
    return await runConnection(connection)
  }

  /** A ticket for one connection, or why there is none. */
  async #ticket(): Promise<string | Error> {
    const { ticket } = this.#options
    if (ticket === undefined) return new Error('there is no way to get a ticket')
    const enough = new AbortController()
    const waiting = AbortSignal.any([enough.signal, this.#ended.signal])
    const late = sleep(this.#clock, TICKET_MS, waiting).then(() => new Error('no ticket came in 30 s'))
    try {
      return await Promise.race([ticket(), late])
    } catch (error) {
      if (error instanceof StreamFailure) throw error
      return new Error(`no ticket: ${error instanceof Error ? error.message : String(error)}`)
    } finally {
      enough.abort()
    }
  }

  /** A ticket lives for seconds: one that came too late is no proof that the next is refused too. */
  #mayTakeNewTicket(failure: StreamFailure): boolean {
    const may =
      failure.code === 'unauthenticated' && this.#options.ticket !== undefined && !this.#wasRefusedTicket
    this.#wasRefusedTicket = may
    return may
  }

  /** Whether the connection shall go on. */
  #onMessage(message: StreamMessage | Hello, chars: number): boolean {
    this.#wasRefusedTicket = false
    if (message.type === 'hello') {
      const { epoch, oldest, latest } = message
      this.#state = 'catching_up'
      this.#push({ type: 'connected', epoch, oldest, latest })
      return true
    }
    const isRepeat = 'event' in message && !this.#seen.isNew(message.event.id)
    this.#received = cursorOf(message)
    if (isRepeat) return true
    this.#useless = 0
    if (message.type === 'live') this.#state = 'live'
    this.#inbox.push(message, chars)
    return !this.#inbox.isFull
  }

  #push(message: Message): void {
    this.#inbox.push(message, OWN_MESSAGE_CHARS)
  }

  #fail(failure: unknown): void {
    this.#failure = failure
    this.#end()
  }

  #end(): void {
    this.#state = 'closed'
    this.#ended.abort()
    this.#inbox.end(false)
  }
}

function cursorOf(message: Message): string | null {
  if ('event' in message) return message.event.cursor
  return 'cursor' in message ? message.cursor : null
}

function platformWebSocket(): SocketConstructor {
  const { WebSocket } = globalThis as unknown as { WebSocket?: SocketConstructor }
  if (WebSocket !== undefined) return WebSocket
  throw new TypeError(
    'this platform has no WebSocket (Node has one from version 22 on); give one as an option',
  )
}

/** @throws TypeError for what is no address of a bridge */
function streamUrl(text: string): URL {
  const url = new URL(text)
  url.hash = ''
  url.protocol = url.protocol.replace(/^http/, 'ws')
  if (!/^wss?:$/.test(url.protocol)) throw new TypeError(`${text} is no http, https, ws or wss address`)
  if (!url.pathname.endsWith('/v1/stream')) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/stream`
  return url
}
