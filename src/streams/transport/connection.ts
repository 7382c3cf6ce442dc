/**
 * Serves one WebSocket from its upgrade to its close: authentication, commands, subscriptions and the close code.
 */
import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import type { Caller } from '../../http/auth.ts'
import type { StreamCloseCode } from '../../obs/metrics.ts'
import type { OpenStream } from '../fanout/open-streams.ts'
import { HEARTBEAT_MS, type Session, type SessionEnd } from '../fanout/session.ts'
import { type Output, SocketWriter, type WriterOwner } from '../fanout/socket-writer.ts'
import { startAt } from '../fanout/start.ts'
import { StreamAccount } from '../fanout/stream-account.ts'
import { CommandRate, MAX_COMMANDS_A_SECOND } from '../limits/command-rate.ts'
import type { TokenBound } from '../limits/token-expiry.ts'
import { idOf, parseMessage, readStreamCommand, type StreamCommand } from './commands.ts'
import type { StreamContext } from './context.ts'
import type { HandshakeCredential, PresentedCredential } from './identity.ts'
import { KeepAlive, type KeepAlivePeer } from './keep-alive.ts'
import { type CloseCode, closeReason, errorNames, protocolCode, StreamRefusal, tooLarge } from './refusal.ts'
import { MAX_SUBSCRIPTIONS, type Subscribe, type Subscriber, Subscriptions } from './subscriptions.ts'
import { boundUnauthenticated } from './unauthenticated-bounds.ts'
import { countUnfinished } from './unfinished-messages.ts'
import type { MessageFraming, Subprotocol } from './ws-frames.ts'

/** Largest message, bytes. */
export const MAX_MESSAGE_BYTES = 256 * 1024
/** How long a client that is unauthenticated, took nothing for 30 s, or sent more than may be held has to answer a close, ms. */
export const SHORT_LINGER_MS = 1000
/** The same for other clients. */
const LINGER_MS = 5000

/** What a connection is served with. */
export interface ConnectionOptions {
  context: StreamContext
  webSocket: WebSocket
  /** The socket under the WebSocket. Whole frames are written to it directly, which is safe without compression. */
  socket: Duplex & Output
  subprotocol: Subprotocol
  /** The client's address as it is counted; empty where it cannot be read. */
  remote: string
  framing: MessageFraming
  /** Finds the caller of a credential. Throws StreamRefusal. */
  identify: (presented: PresentedCredential) => Caller
  /** The credential of the handshake; null = the first frame authenticates. */
  presented: HandshakeCredential | null
  /** Called once the client has authenticated, and again when the connection is over. */
  onAuthenticated: () => void
  /** Called once, when the connection is over. */
  onClosed: () => void
}

/** Serves the client until its connection is over. */
export function serveConnection(options: ConnectionOptions): void {
  new Connection(options).open()
}

class Connection implements WriterOwner, Subscriber, KeepAlivePeer, TokenBound, OpenStream {
  /** Owned by the list of open streams. */
  number = 0
  readonly #options: ConnectionOptions
  readonly framing: MessageFraming
  readonly account: StreamAccount
  readonly writer: SocketWriter
  readonly #keepAlive: KeepAlive
  readonly #rate = new CommandRate()
  /** The last command; each runs after the one before it. */
  #lastCommand: Promise<void> = Promise.resolve()
  /** Reasons not to read from the client, so that neither commands nor answers pile up: unfinished commands, and slowness. */
  #pauses = 0
  /** Ends the bounds of what the client may send now. */
  #liftBounds = nothing
  #identity: { caller: Caller; freeSlot: () => void } | null = null
  /** null before the first one. */
  #subscriptions: Subscriptions | null = null
  /** Aborts what a command waits for when the connection ends. */
  #waiting: AbortController | null = null
  /** Called when the client has taken everything, or the connection is over. */
  #onTaken = nothing
  #cancelLinger = nothing
  /** Closing has begun or the socket is gone: nothing is written any more. */
  #isOver = false
  #code: StreamCloseCode = 'client'

  constructor(options: ConnectionOptions) {
    const { context, socket } = options
    this.#options = options
    this.framing = options.framing
    this.account = new StreamAccount(context, 'ws', options.remote)
    this.writer = new SocketWriter(socket, 'socket', context, this)
    this.#keepAlive = new KeepAlive(context.timerWheel, context.chance, this)
  }

  open(): void {
    const { context, webSocket, presented, identify } = this.#options
    webSocket.on('message', this.#onMessage)
    webSocket.on('ping', this.#onPing)
    webSocket.on('pong', this.#onPong)
    webSocket.on('error', this.#onProtocolError)
    webSocket.on('close', this.#onClosed)
    context.open.add(this)
    if (presented !== null) this.#enqueue(async () => await this.#admit(identify(presented)))
    else {
      const { socket } = this.#options
      this.#liftBounds = boundUnauthenticated(socket, context.clock, (refusal) => this.#refuse(refusal, null))
    }
  }

  get caller(): Caller | null {
    return this.#identity?.caller ?? null
  }

  sessions(): Iterable<[string | null, Session]> {
    return this.#subscriptions?.all() ?? []
  }

  get isReadPaused(): boolean {
    return this.#pauses > 0
  }

  ping(payload: string): void {
    this.#options.webSocket.ping(payload)
  }

  onDead(): void {
    this.#close(4201, 'no pong within 10 s')
  }

  /** Commands of a client that does not take the answers are not read either. */
  onFull(): void {
    this.account.onSlow(true)
    this.#pauseReading()
  }

  onRoom(): void {
    if (!this.#isOver) this.account.onSlow(false)
    this.#resumeReading()
    this.#onTaken()
    this.#subscriptions?.onRoom()
  }

  onStalled(): void {
    this.#close(4108, 'too slow: the client stopped reading')
  }

  onEnd(end: SessionEnd): void {
    if (end === 'lifetime_over') this.#sendAway('this connection reached its maximum age; reconnect at once')
    else this.#close(4108, 'fell behind: the next events are beyond retention')
  }

  onFault(error: unknown, id: string | null): void {
    this.#refuse(error, id)
  }

  onTokenEnded(): void {
    const detail = 'this token was deleted or has expired'
    if (!this.#isOver) this.#refuse(new StreamRefusal(402, detail, 4001), null)
  }

  onDeleted(): void {
    this.#close(4007, 'ended on request, by DELETE /v1/streams/{id}')
  }

  onNodeStops(): void {
    this.#sendAway('this node is stopping; reconnect at once')
  }

  readonly #onMessage = (data: RawData, isBinary: boolean): void => {
    if (!this.#countCommand()) return
    if (isBinary) return this.#refuse(new StreamRefusal(400, 'messages are text frames only', 1003), null)
    // With the library's default a message is one buffer.
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

  /** The library has already sent the close code. */
  readonly #onProtocolError = (error: Error): void => {
    if (this.#isOver) return
    this.#code = protocolCode(error)
    this.#finish()
  }

  readonly #onClosed = (): void => {
    const { context, onAuthenticated, onClosed } = this.#options
    this.#finish()
    this.#cancelLinger()
    this.#keepAlive.stop()
    if (this.#identity !== null) {
      context.tokenExpiry.remove(this.#identity.caller.ended, this)
      this.#identity.freeSlot()
    }
    onAuthenticated()
    onClosed()
    this.account.close(this.#code, this.#identity?.caller ?? null)
  }

  /** False when the connection is over or the command exceeds the rate limit. */
  #countCommand(): boolean {
    if (this.#isOver) return false
    if (this.#rate.take(this.#options.context.clock.now())) return true
    const detail = `more than ${MAX_COMMANDS_A_SECOND} commands in a second`
    this.#refuse(new StreamRefusal(429, detail, 4129), null)
    return false
  }

  async #perform(text: string): Promise<void> {
    let id: string | null = null
    try {
      const message = parseMessage(text)
      id = idOf(message)
      await this.#run(readStreamCommand(message))
    } catch (error) {
      this.#refuse(error, id)
    }
  }

  async #run(command: StreamCommand): Promise<void> {
    if (command.action === 'auth') {
      if (this.#identity !== null) throw new StreamRefusal(403, 'this connection is authenticated already')
      return await this.#admit(this.#options.identify({ token: command.token }))
    }
    if (this.#identity === null) {
      throw new StreamRefusal(401, 'not authenticated: send {"action":"auth","token":"…"} first')
    }
    if (command.action === 'subscribe') return await this.#subscribe(command)
    if (command.action === 'unsubscribe') return this.#unsubscribe(command.id)
    this.#control('pong', command.id === null ? {} : { id: command.id })
  }

  async #admit(caller: Caller): Promise<void> {
    const { context, subprotocol, onAuthenticated } = this.#options
    if (this.#isOver) return
    const freeSlot = context.tokenSlots.take(caller)
    if (freeSlot === null) {
      const detail = `this token has ${context.tokenSlots.limit} streams already; end one, or use another token`
      throw new StreamRefusal(406, detail, 4006)
    }
    this.#identity = { caller, freeSlot }
    context.tokenExpiry.add(caller.ended, this)
    this.#keepAlive.start()
    this.#endBounds()
    const received = context.receiveBuffers.of(caller)
    this.#liftBounds = countUnfinished(this.#options, received, (refusal) => this.#refuse(refusal, null))
    onAuthenticated()
    this.#control('authenticated', {})
    if (!(await this.#replicaComplete())) return
    const { epoch, oldest, latest } = context.reader
    this.#control('hello', { protocol: subprotocol, epoch, oldest, latest, heartbeatMs: HEARTBEAT_MS })
  }

  async #subscribe(command: Subscribe): Promise<void> {
    const { context } = this.#options
    this.#subscriptions ??= new Subscriptions(context, this)
    if (!this.#subscriptions.hasRoom(command.id)) {
      const detail = `this connection has ${MAX_SUBSCRIPTIONS} subscriptions already; end one, or use its id again`
      throw new StreamRefusal(406, detail)
    }
    if (!(await this.#replicaComplete())) return
    const caller = this.#identity?.caller.tokenId ?? ''
    context.checkFilterRoom(caller, command.filter, this.#subscriptions.framingOf(command.id).shared)
    const found = await this.#whileOpen((signal) => startAt(context, { ...command, caller }, signal))
    if (found.kind === 'too_old') {
      const detail = `the events after this cursor are no longer kept; oldest=${found.oldest}`
      throw new StreamRefusal(410, detail, 4010)
    }
    this.#subscriptions.stop(command.id)
    // Wait for the client to take the old subscription's frames, so that re-subscribing cannot pile them up.
    if (this.writer.isFull) await this.#allTaken()
    if (!this.#isOver) this.#subscriptions.begin(command, found.start, this.#identity?.caller)
  }

  #unsubscribe(id: string | null): void {
    if (this.#subscriptions?.stop(id) !== true) {
      const which = id === null ? 'without an id' : 'of this id'
      throw new StreamRefusal(400, `this connection has no subscription ${which}`)
    }
    this.#control('unsubscribed', { id })
  }

  /** Waits until positions of the log are known at this node. False when the connection ended before. */
  async #replicaComplete(): Promise<boolean> {
    await this.#whileOpen((signal) => this.#options.context.reader.replica.untilComplete(signal))
    return !this.#isOver
  }

  /** Runs `work` with a signal that aborts when the connection ends. */
  async #whileOpen<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const waiting = new AbortController()
    this.#waiting = waiting
    try {
      return await work(waiting.signal)
    } finally {
      this.#waiting = null
    }
  }

  /** Resolves when the client has taken everything, or the connection is over. */
  #allTaken(): Promise<void> {
    return new Promise((resolve) => {
      this.#onTaken = resolve
    })
  }

  #control(...message: Parameters<MessageFraming['control']>): void {
    this.#write(this.framing.control(...message))
  }

  #write(frames: Buffer[]): void {
    if (!this.#isOver) this.writer.write(Buffer.concat(frames))
  }

  #sendAway(reason: string): void {
    this.#write(this.framing.goingAway(this.#options.context.reconnectInMs()))
    this.#close(4200, reason)
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
    return new StreamRefusal(500, 'internal error; reconnect later', 1011)
  }

  #close(code: CloseCode, reason: string): void {
    if (this.#isOver) return
    const cursor = code === 4010 ? null : (this.#subscriptions?.cursor ?? null)
    this.#code = `${code}`
    const isFull = code === 4100 && this.#identity !== null
    if (isFull) this.#pauseReading()
    this.#finish()
    const { webSocket, context } = this.#options
    const isStuck = isFull || (code === 4108 && this.writer.isFull)
    const lingerMs = this.#identity === null || isStuck ? SHORT_LINGER_MS : LINGER_MS
    // Terminating frees what the kernel holds for a connection: for a thousand at once that takes most of a second.
    this.#cancelLinger = context.clock.after(lingerMs, () =>
      context.tickBudget.run(() => webSocket.terminate()),
    )
    // Read the answer to the close, even if reading was paused; but not where it sent more than may be held.
    if (!isFull) webSocket.resume()
    webSocket.close(code, closeReason(reason, cursor))
  }

  /** Runs the command after all earlier ones, if the connection is not over by then. Reading pauses until it is done. */
  #enqueue(command: () => Promise<void>): void {
    this.#pauseReading()
    this.#lastCommand = this.#lastCommand.then(async () => {
      try {
        if (!this.#isOver) await command()
      } catch (error) {
        this.#refuse(error, null)
      }
      this.#resumeReading()
    })
  }

  /** Ends the bounds of what the client may send now; callable again. */
  #endBounds(): void {
    this.#liftBounds()
    this.#liftBounds = nothing
  }

  #pauseReading(): void {
    this.#pauses += 1
    if (!this.#isOver) this.#options.webSocket.pause()
  }

  /** Ends one `#pauseReading`. */
  #resumeReading(): void {
    this.#pauses -= 1
    if (this.#pauses === 0) this.#options.webSocket.resume()
  }

  /** Stops writing, reading and waiting. */
  #finish(): void {
    if (!this.#isOver && this.writer.isFull) this.account.onSlow(false)
    this.#isOver = true
    this.#endBounds()
    this.#subscriptions?.stopAll()
    this.#waiting?.abort()
    this.#onTaken()
    this.#options.context.open.delete(this)
  }
}

/** Shared by all connections: thousands of them are idle. */
function nothing(): void {}
