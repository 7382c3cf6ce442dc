/**
 * One WebSocket from its opening to its end: the token, the subscription, the watch over its silence. Owns the socket.
 * Refuses to come back, and to know what is done with a message.
 */
import type { Clock } from './clock.ts'
import { type ControlMessage, readMessage, type StreamMessage, USUAL_HEARTBEAT_MS } from './messages.ts'
import { type ConnectionEnd, isRefusal } from './verdict.ts'

/** The part of a platform's WebSocket that is used. */
export interface Socket {
  send(text: string): void
  close(): void
  onopen: ((event: never) => void) | null
  onmessage: ((event: never) => void) | null
  onerror: ((event: never) => void) | null
  onclose: ((event: never) => void) | null
}

/** Opens a WebSocket. */
export type SocketConstructor = new (url: string, protocols: string[]) => Socket

export interface ConnectionOptions {
  open: SocketConstructor
  url: string
  /** Sent as the first frame; null where a ticket in the address speaks for the client. */
  token: string | null
  /** What is subscribed to: the members of `subscribe`. */
  subscription: object
  clock: Clock
  /** Ends the connection. */
  signal: AbortSignal
  /** Takes what has come, with the characters of its text; false = the connection shall end. */
  onMessage: (message: StreamMessage | Hello, chars: number) => boolean
}

/** What a bridge says first of its log. */
export type Hello = ControlMessage & { type: 'hello' }

const SUBPROTOCOL = 'bridge.v1.json'
/** So many heartbeats may fail to come. */
const SILENT_HEARTBEATS = 2.5
const NEVER_OPENED =
  'no connection: nothing answers there, or the bridge refused it (a full or stopping node; a browser whose origin ' +
  'BRIDGE_CORS_ORIGINS does not name)'

/** Serves one connection to its end. Rejects only with what the platform throws where it refuses the address. */
export function runConnection(options: ConnectionOptions): Promise<ConnectionEnd> {
  return new Promise((resolve) => new Connection(options, resolve).open())
}

class Connection {
  readonly #options: ConnectionOptions
  readonly #resolve: (end: ConnectionEnd) => void
  readonly #socket: Socket
  #silenceMs = USUAL_HEARTBEAT_MS * SILENT_HEARTBEATS
  #cancelWatch = (): void => {}
  #hasOpened = false
  #error: ConnectionEnd['error'] = null
  #reconnectInMs: number | null = null

  constructor(options: ConnectionOptions, resolve: (end: ConnectionEnd) => void) {
    this.#options = options
    this.#resolve = resolve
    this.#socket = new options.open(options.url, [SUBPROTOCOL])
  }

  open(): void {
    this.#socket.onopen = () => {
      this.#hasOpened = true
      const { token } = this.#options
      if (token !== null) this.#send({ action: 'auth', token })
    }
    this.#socket.onmessage = ({ data }: { data: unknown }) => this.#onText(String(data))
    // `close` follows and says more.
    this.#socket.onerror = () => {}
    this.#socket.onclose = ({ code, reason }: { code: number; reason: string }) =>
      this.#end(code, this.#hasOpened ? `closed with ${code} ${reason}`.trimEnd() : NEVER_OPENED)
    this.#options.signal.addEventListener('abort', this.#onAbort)
    this.#watch()
  }

  readonly #onAbort = (): void => this.#letGo('closed by this client')

  #onText(text: string): void {
    this.#watch()
    const message = readMessage(text)
    if (message === null) return this.#letGo(`this is no message of a bridge: ${text.slice(0, 80)}`)
    switch (message.type) {
      case 'other':
        return
      case 'going_away':
        this.#reconnectInMs = message.reconnectInMs
        return
      case 'error':
        this.#error = message
        // The bridge leaves the connection open after some refusals; a code it closes with comes all the same.
        if (isRefusal(message)) this.#socket.close()
        return
      case 'hello':
        this.#silenceMs = message.heartbeatMs * SILENT_HEARTBEATS
        this.#watch()
        this.#send({ action: 'subscribe', ...this.#options.subscription })
    }
    if (!this.#options.onMessage(message, text.length)) this.#letGo('not read on for now')
  }

  #send(message: object): void {
    this.#socket.send(JSON.stringify(message))
  }

  /** The silence begins anew. */
  #watch(): void {
    this.#cancelWatch()
    this.#cancelWatch = this.#options.clock.after(this.#silenceMs, () =>
      this.#letGo(`silent for ${this.#silenceMs / 1000} s`),
    )
  }

  /** Ends from this side: whatever still comes is not looked at. */
  #letGo(why: string): void {
    this.#end(null, why)
    this.#socket.close()
  }

  #end(closeCode: number | null, why: string): void {
    this.#cancelWatch()
    this.#options.signal.removeEventListener('abort', this.#onAbort)
    this.#socket.onopen = null
    this.#socket.onmessage = null
    this.#socket.onclose = null
    this.#resolve({ closeCode, why, error: this.#error, reconnectInMs: this.#reconnectInMs })
  }
}
