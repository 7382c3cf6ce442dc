/**
 * Runs one WebSocket connection from opening to close: authenticates, sends commands no faster than the bridge takes
 * them, and closes it when heartbeats stop.
 */
import type { Clock } from './clock.ts'
import { type ControlMessage, readMessage, type StreamMessage, USUAL_HEARTBEAT_MS } from './messages.ts'
import { type ConnectionEnd, type EndCause, isRefusal } from './verdict.ts'

/** The members of a platform's WebSocket that this client uses. */
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

/** What one connection needs. */
export interface ConnectionOptions {
  open: SocketConstructor
  url: string
  /** Sent as the first frame; null where a ticket in the address authenticates. */
  token: string | null
  /** The next command, asked for when it can be sent: after the bridge's hello; null where there is none. */
  nextCommand: () => object | null
  clock: Clock
  /** Ends the connection. */
  signal: AbortSignal
  /** Receives each message with its length in characters; false closes the connection because the reader's buffer is full. */
  onMessage: (message: StreamMessage | Answer, chars: number) => boolean
}

/** An open connection. */
export interface RunningConnection {
  /** Resolves when it has ended. */
  ended: Promise<ConnectionEnd>
  /** There may be another command: sends it as soon as the bridge takes one. */
  sendCommands(): void
}

/** The bridge's first message, with the state of its log, and its answer to a `subscribe`. */
export type Answer = ControlMessage & { type: 'hello' | 'subscribed' }

const SUBPROTOCOL = 'bridge.v1.json'
/** The connection counts as broken after this many heartbeat intervals of silence. */
const SILENT_HEARTBEATS = 2.5
/** So many commands are sent, then none until all are answered and `PAUSE_MS` have passed. A bridge takes 20 in a second, an older one 10. */
const COMMANDS_AT_ONCE = 8
/** Longer than that second: two clocks differ, and timers are early at times. */
const PAUSE_MS = 1100
const NEVER_OPENED =
  'no connection: nothing listens at that address, or the bridge refused it (a full or stopping node; a browser origin ' +
  'that BRIDGE_CORS_ORIGINS does not list)'

/** Opens a connection. Throws what the platform throws for an address that it refuses. */
export function openConnection(options: ConnectionOptions): RunningConnection {
  const { promise: ended, resolve } = Promise.withResolvers<ConnectionEnd>()
  const connection = new Connection(options, resolve)
  connection.open()
  return { ended, sendCommands: () => connection.sendCommands() }
}

class Connection {
  readonly #options: ConnectionOptions
  readonly #resolve: (end: ConnectionEnd) => void
  readonly #socket: Socket
  #silenceMs = USUAL_HEARTBEAT_MS * SILENT_HEARTBEATS
  #cancelWatch = (): void => {}
  #hasOpened = false
  #isReady = false
  /** Commands that may be sent before the next pause. */
  #free = COMMANDS_AT_ONCE
  #unanswered = 0
  #cancelPause = (): void => {}
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
    this.#socket.onmessage = ({ data }: { data: unknown }) =>
      this.#onText(typeof data === 'string' ? data : '')
    // `close` follows, with the code and the reason.
    this.#socket.onerror = () => {}
    this.#socket.onclose = ({ code, reason }: { code: number; reason: string }) =>
      this.#end(
        code,
        this.#closeCause,
        this.#hasOpened ? `closed with ${code} ${reason}`.trimEnd() : NEVER_OPENED,
      )
    this.#options.signal.addEventListener('abort', this.#onAbort)
    this.#watch()
  }

  get #closeCause(): EndCause {
    if (!this.#hasOpened) return 'unreachable'
    return this.#reconnectInMs === null ? 'closed' : 'going_away'
  }

  readonly #onAbort = (): void => this.#disconnect('closed', 'closed by this client')

  #onText(text: string): void {
    this.#watch()
    const message = readMessage(text)
    if (message === null)
      return this.#disconnect('unreadable', `not a message of a bridge: ${text.slice(0, 80)}`)
    switch (message.type) {
      case 'other':
        return
      case 'going_away':
        this.#reconnectInMs = message.reconnectInMs
        return
      case 'error':
        this.#error = message
        this.#onAnswer()
        // The bridge leaves the connection open after some refusals; where it closes, its close code still arrives.
        if (isRefusal(message)) this.#socket.close()
        return
      case 'unsubscribed':
        this.#onAnswer()
        return
      case 'subscribed':
        this.#onAnswer()
        break
      case 'hello':
        this.#silenceMs = message.heartbeatMs * SILENT_HEARTBEATS
        this.#watch()
        this.#isReady = true
        // With a token it answers the `auth`.
        this.#onAnswer()
    }
    if (!this.#options.onMessage(message, text.length))
      this.#disconnect('slow_reader', 'the buffer is full: the reader is slower than the stream')
    // A message may let a command go that waited for it.
    this.sendCommands()
  }

  sendCommands(): void {
    while (this.#isReady && this.#free > 0) {
      const command = this.#options.nextCommand()
      if (command === null) return
      this.#send(command)
    }
  }

  #send(message: object): void {
    this.#free -= 1
    this.#unanswered += 1
    this.#socket.send(JSON.stringify(message))
  }

  /** Counting from the answers keeps to the bridge's limit also where the network or the bridge held commands up. */
  #onAnswer(): void {
    if (this.#unanswered === 0) return
    this.#unanswered -= 1
    if (this.#free > 0 || this.#unanswered > 0) return
    this.#cancelPause = this.#options.clock.after(PAUSE_MS, () => {
      this.#free = COMMANDS_AT_ONCE
      this.sendCommands()
    })
  }

  /** Restarts the timer that detects silence. */
  #watch(): void {
    this.#cancelWatch()
    this.#cancelWatch = this.#options.clock.after(this.#silenceMs, () =>
      this.#disconnect('silent', `silent for ${this.#silenceMs / 1000} s`),
    )
  }

  /** Closes from this side; messages that still arrive are ignored. */
  #disconnect(cause: EndCause, why: string): void {
    this.#end(null, cause, why)
    this.#socket.close()
  }

  #end(closeCode: number | null, cause: EndCause, why: string): void {
    this.#cancelWatch()
    this.#cancelPause()
    this.#isReady = false
    this.#options.signal.removeEventListener('abort', this.#onAbort)
    this.#socket.onopen = null
    this.#socket.onmessage = null
    this.#socket.onclose = null
    this.#resolve({ closeCode, cause, why, error: this.#error, reconnectInMs: this.#reconnectInMs })
  }
}
