/**
 * One WebSocket from its upgrade to its close (contract §8): authentication, commands, the one subscription, the close
 * code. Owns the order of messages and the bounds of one client: commands are few, and done one by one. Refuses to read
 * events: `session.ts` does.
 */
import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import type { Caller } from '../../http/auth.ts'
import type { StreamCloseCode } from '../../obs/metrics.ts'
import { HEARTBEAT_MS, Session, type SessionClient, type SessionEnd } from '../fanout/session.ts'
import { type Outlet, Sink, type SinkOwner } from '../fanout/socket-writer.ts'
import { startAt } from '../fanout/start.ts'
import { Account } from '../fanout/stream-account.ts'
import { CommandRate, MAX_COMMANDS_A_SECOND } from '../limits/command-rate.ts'
import type { Ending } from '../limits/token-expiry.ts'
import { type Command, fromToJson, idOf, parseMessage, readCommand } from './commands.ts'
import type { Stoppable, StreamContext } from './context.ts'
import type { Shown } from './identity.ts'
import { KeepAlive, type Pinged } from './keep-alive.ts'
import { type CloseCode, closeReason, errorNames, protocolCode, StreamRefusal } from './refusal.ts'
import type { MessageFraming, Subprotocol } from './ws-frames.ts'

/** Largest message, bytes. */
export const MAX_MESSAGE_BYTES = 256 * 1024
/** Bytes that a client may send before it has authenticated, frame heads included. */
export const MAX_BYTES_BEFORE_AUTH = 4 * 1024
const AUTH_MS = 10_000
const TOKEN_ENDED = 'this token was deleted or has expired'
/** Time for the answer to a close, for clients that nobody knows. */
export const STRANGER_LINGER_MS = 1000
/** The same for all others. */
const LINGER_MS = 5000

export interface ConnectionOptions {
  context: StreamContext
  webSocket: WebSocket
  /** What the WebSocket stands on. Whole frames are written to it directly: there is no compression to run into. */
  socket: Duplex & Outlet
  subprotocol: Subprotocol
  framing: MessageFraming
  /** The caller behind what the client shows. Throws StreamRefusal. */
  identify: (shown: Shown) => Caller
  /** What the handshake showed; null = the first frame authenticates. */
  shown: Exclude<Shown, { token: string }> | null
  /** Called once the client has authenticated, and again when the connection is over. */
  onAuthenticated: () => void
  /** Called once, when the connection is over. */
  onClosed: () => void
}

/** Serves the client until its connection is over. */
export function serveConnection(options: ConnectionOptions): void {
  new Connection(options).open()
}

class Connection implements SinkOwner, SessionClient, Pinged, Ending, Stoppable {
  readonly #options: ConnectionOptions
  readonly #account: Account
  readonly #sink: Sink
  readonly #keepAlive: KeepAlive
  readonly #rate = new CommandRate()
  #jobs: Promise<void> = Promise.resolve()
  /** Reasons not to read from the client: commands under way, and that it has not taken what was written. */
  #holds = 0
  #bytesBeforeAuth = 0
  /** Of the wait for authentication, or of that for the answer to a close. */
  #cancelTimer = nothing
  #identity: { caller: Caller; leave: () => void } | null = null
  #session: Session | null = null
  /** The client's id of its subscription. */
  #subscription: string | null = null
  /** What a command waits for; ended with the connection. */
  #waiting: AbortController | null = null
  /** Told when there is room, or the connection is over. */
  #onRoomWanted = nothing
  /** Closing has begun or the socket is gone: nothing is written from then on. */
  #isOver = false
  #code: StreamCloseCode = 'client'

  constructor(options: ConnectionOptions) {
    const { context, socket } = options
    this.#options = options
    this.#account = new Account(context, 'ws')
    this.#sink = new Sink(socket, 'bare', context, this)
    this.#keepAlive = new KeepAlive(context.wheel, context.chance, this)
  }

  open(): void {
    const { context, webSocket, socket, shown, identify } = this.#options
    webSocket.on('message', this.#onMessage)
    webSocket.on('ping', this.#onPing)
    webSocket.on('pong', this.#onPong)
    webSocket.on('error', this.#onProtocolError)
    webSocket.on('close', this.#onClosed)
    context.open.add(this)
    if (shown !== null) {
      this.#enqueue(async () => await this.#admit(identify(shown)))
      return
    }
    socket.on('data', this.#countBytes)
    this.#cancelTimer = context.clock.after(AUTH_MS, () =>
      this.#refuse(new StreamRefusal(404, 'no authentication within 10 s', 4001), null),
    )
  }

  get framing(): MessageFraming {
    return this.#options.framing
  }

  get isFull(): boolean {
    return this.#sink.isFull
  }

  get isHeld(): boolean {
    return this.#holds > 0
  }

  write(frames: Buffer): void {
    if (!this.#isOver) this.#sink.write(frames)
  }

  ping(payload: string): void {
    this.#options.webSocket.ping(payload)
  }

  onDead(): void {
    this.#close(4201, 'no pong within 10 s')
  }

  /** Commands whose answers it does not take are not read either: neither can pile up. */
  onFull(): void {
    this.#account.onSlow(true)
    this.#hold()
  }

  onRoom(): void {
    if (!this.#isOver) this.#account.onSlow(false)
    this.#letRead()
    this.#onRoomWanted()
    this.#session?.onRoom()
  }

  onStalled(): void {
    this.#close(4108, 'too slow: nothing was taken for too long')
  }

  onSent(events: number, readableMs: number | null): void {
    this.#account.onSent(events, readableMs)
  }

  onEnd(end: SessionEnd): void {
    if (end === 'over') this.#sendAway('this connection is as old as one may be; come back at once')
    else this.#close(4108, 'fell behind: what comes next is no longer kept')
  }

  onFault(error: unknown): void {
    this.#refuse(error, this.#subscription)
  }

  onTokenEnded(): void {
    if (!this.#isOver) this.#refuse(new StreamRefusal(402, TOKEN_ENDED, 4001), null)
  }

  onNodeStops(): void {
    this.#sendAway('this node stops; come back at once')
  }

  readonly #onMessage = (data: RawData, isBinary: boolean): void => {
    if (!this.#countCommand()) return
    if (isBinary) return this.#refuse(new StreamRefusal(400, 'messages are text frames only', 1003), null)
    // One buffer: the library's default for a message.
    const text = data as Buffer
    if (text.length > MAX_MESSAGE_BYTES) return this.#refuse(tooLarge(MAX_MESSAGE_BYTES), null)
    this.#enqueue(() => this.#perform(text.toString()))
  }

  readonly #onPing = (): void => {
    this.#countCommand()
  }

  readonly #onPong = (payload: Buffer): void => {
    if (!this.#keepAlive.onPong(payload.toString())) this.#countCommand()
  }

  /** The library has answered with the close code already. */
  readonly #onProtocolError = (error: Error): void => {
    if (this.#isOver) return
    this.#code = protocolCode(error)
    this.#finish()
  }

  readonly #onClosed = (): void => {
    const { context, onAuthenticated, onClosed } = this.#options
    this.#finish()
    this.#cancelTimer()
    this.#keepAlive.stop()
    if (this.#identity !== null) {
      context.tokenEnds.remove(this.#identity.caller.ended, this)
      this.#identity.leave()
    }
    onAuthenticated()
    onClosed()
    this.#account.close(this.#code, this.#identity?.caller ?? null)
  }

  readonly #countBytes = (chunk: Buffer): void => {
    this.#bytesBeforeAuth += chunk.length
    if (this.#bytesBeforeAuth > MAX_BYTES_BEFORE_AUTH) this.#refuse(tooLarge(MAX_BYTES_BEFORE_AUTH), null)
  }

  #countCommand(): boolean {
    if (this.#isOver) return false
    if (this.#rate.take(this.#options.context.clock.now())) return true
    const detail = `more than ${MAX_COMMANDS_A_SECOND} commands in a second`
    this.#refuse(new StreamRefusal(429, detail, 4129), null)
    return false
  }

  #hold(): void {
    this.#holds += 1
    if (!this.#isOver) this.#options.webSocket.pause()
  }

  #letRead(): void {
    this.#holds -= 1
    if (this.#holds === 0) this.#options.webSocket.resume()
  }

  /** One job after the other; the client is not read from until they are done. */
  #enqueue(job: () => Promise<void>): void {
    this.#hold()
    this.#jobs = this.#jobs.then(async () => {
      try {
        if (!this.#isOver) await job()
      } catch (error) {
        this.#refuse(error, null)
      }
      this.#letRead()
    })
  }

  /** What a command waits for ends with the connection. */
  async #during<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const waiting = new AbortController()
    this.#waiting = waiting
    try {
      return await work(waiting.signal)
    } finally {
      this.#waiting = null
    }
  }

  async #perform(text: string): Promise<void> {
    let id: string | null = null
    try {
      const message = parseMessage(text)
      id = idOf(message)
      await this.#obey(readCommand(message))
    } catch (error) {
      this.#refuse(error, id)
    }
  }

  async #obey(command: Command): Promise<void> {
    if (command.action === 'auth') {
      if (this.#identity !== null) throw new StreamRefusal(403, 'this connection is authenticated already')
      return await this.#admit(this.#options.identify({ token: command.token }))
    }
    if (this.#identity === null) {
      throw new StreamRefusal(401, 'send {"action":"auth","token":"…"} first, or a bearer header')
    }
    if (command.action === 'subscribe') return await this.#subscribe(command)
    this.#control('pong', command.id === null ? {} : { id: command.id })
  }

  /** What the log is at this node is not known while its copy is filled: `hello` waits for that. */
  async #admit(caller: Caller): Promise<void> {
    const { context, socket, subprotocol, onAuthenticated } = this.#options
    if (this.#isOver) return
    const leave = context.tokenPlaces.take(caller)
    if (leave === null) {
      throw new StreamRefusal(406, `this token has ${context.tokenPlaces.limit} streams already`, 4006)
    }
    this.#identity = { caller, leave }
    context.tokenEnds.add(caller.ended, this)
    this.#keepAlive.start()
    this.#cancelTimer()
    this.#cancelTimer = nothing
    socket.off('data', this.#countBytes)
    onAuthenticated()
    this.#control('authenticated', {})
    await this.#during((signal) => context.reader.replica.untilComplete(signal))
    if (this.#isOver) return
    const { epoch, oldest, latest } = context.reader
    this.#control('hello', { protocol: subprotocol, epoch, oldest, latest, heartbeatMs: HEARTBEAT_MS })
  }

  async #subscribe(command: Command & { action: 'subscribe' }): Promise<void> {
    const { context, framing } = this.#options
    // A copy that is filled anew has no places yet.
    await this.#during((signal) => context.reader.replica.untilComplete(signal))
    if (this.#isOver) return
    const found = await this.#during((signal) => startAt(context, command, signal))
    if (found.kind === 'too_old') {
      const detail = `what follows this cursor is no longer kept; oldest=${found.oldest}`
      throw new StreamRefusal(410, detail, 4010)
    }
    this.#session?.stop()
    // What the subscription before has written is taken first: replacing it never piles up.
    if (this.#sink.isFull) await this.#room()
    if (this.#isOver) return
    const { id, filter, from } = command
    this.#subscription = id
    const subscribed = framing.control('subscribed', { id, filter: filter ?? {}, from: fromToJson(from) })
    this.#session = new Session(context, this, {
      filter,
      start: found.start,
      opening: Buffer.concat(subscribed),
      endsMs: context.endsMs(),
    })
    this.#session.start()
  }

  /** Resolves when the client has taken everything, or the connection is over. */
  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoomWanted = resolve
    })
  }

  #control(...message: Parameters<MessageFraming['control']>): void {
    this.write(Buffer.concat(this.#options.framing.control(...message)))
  }

  #sendAway(what: string): void {
    const { context, framing } = this.#options
    this.write(Buffer.concat(framing.goingAway(context.reconnectInMs())))
    this.#close(4200, what)
  }

  #refuse(error: unknown, id: string | null): void {
    const refusal = error instanceof StreamRefusal ? error : this.#fault(error)
    const { number, message, closeCode } = refusal
    const about = id === null ? {} : { id }
    this.#control('error', { code: number, name: errorNames[number], detail: message, ...about })
    if (closeCode !== null) this.#close(closeCode, message)
  }

  #fault(error: unknown): StreamRefusal {
    this.#options.context.logger.error('stream.failed', { transport: 'ws', error })
    return new StreamRefusal(500, 'something went wrong inside; come back later', 1011)
  }

  #close(code: CloseCode, what: string): void {
    if (this.#isOver) return
    const cursor = code === 4010 ? null : (this.#session?.cursor ?? null)
    this.#code = `${code}`
    this.#finish()
    const { webSocket, context } = this.#options
    this.#cancelTimer()
    // To end a connection frees what the kernel holds for it: of a thousand together that takes most of a second.
    this.#cancelTimer = context.clock.after(this.#identity === null ? STRANGER_LINGER_MS : LINGER_MS, () =>
      context.turns.add(() => webSocket.terminate()),
    )
    // The answer to the close has to be read, whatever held reading up.
    webSocket.resume()
    webSocket.close(code, closeReason(what, cursor))
  }

  /** Nothing is written, read or waited for from now on. */
  #finish(): void {
    if (!this.#isOver && this.#sink.isFull) this.#account.onSlow(false)
    this.#isOver = true
    this.#session?.stop()
    this.#waiting?.abort()
    this.#onRoomWanted()
    this.#options.context.open.delete(this)
  }
}

/** One for all connections: thousands of them are idle. */
function nothing(): void {}

function tooLarge(most: number): StreamRefusal {
  const when = most === MAX_BYTES_BEFORE_AUTH ? ' before authentication' : ''
  return new StreamRefusal(400, `more than ${most} bytes${when}`, 1009)
}
