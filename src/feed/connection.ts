/**
 * One WebSocket from its upgrade to its close (contract §8): authentication, commands, the one subscription, the close
 * code. Owns the order of messages and the bounds of one client: commands are few, and done one by one. Refuses to read
 * events: `session.ts` does.
 */
import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import type { Caller } from '../http/auth.ts'
import type { StreamCloseCode } from '../obs/metrics.ts'
import { type Account, openAccount } from './account.ts'
import { type CommandRate, createCommandRate, MAX_COMMANDS_A_SECOND } from './command-rate.ts'
import { type Command, fromToJson, idOf, parseMessage, readCommand } from './commands.ts'
import type { StreamContext } from './context.ts'
import { createFlow, type Flow } from './flow.ts'
import type { Shown } from './identity.ts'
import { type KeepAlive, keepAlive } from './keep-alive.ts'
import { type CloseCode, closeReason, errorNames, protocolCode, StreamRefusal } from './refusal.ts'
import { HEARTBEAT_MS, runSession, type SessionEnd, type SessionStart } from './session.ts'
import { type Outlet, outletSink } from './sink.ts'
import { startAt } from './start.ts'
import type { MessageFraming, Subprotocol } from './ws-frames.ts'

/** Largest message, bytes. */
export const MAX_MESSAGE_BYTES = 256 * 1024
/** Bytes that a client may send before it has authenticated, frame heads included. */
export const MAX_BYTES_BEFORE_AUTH = 4 * 1024
const AUTH_MS = 10_000
const TOKEN_ENDED = 'this token was deleted or has expired'
/** Time for the answer to a close, for clients that nobody knows; the library gives the others longer. */
export const STRANGER_LINGER_MS = 1000

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

class Connection {
  readonly #options: ConnectionOptions
  readonly #account: Account
  readonly #flow: Flow
  readonly #rate: CommandRate = createCommandRate()
  readonly #keepAlive: KeepAlive
  /** Aborts when closing has begun or the socket is gone: nothing is written from then on. */
  readonly #ended = new AbortController()
  #jobs: Promise<void> = Promise.resolve()
  #bytesBeforeAuth = 0
  /** Of the wait for authentication, or of the answer to a close without one. */
  #cancelTimer = (): void => {}
  #identity: { caller: Caller; leave: () => void } | null = null
  #session: { replace: AbortController; done: Promise<void> } | null = null
  #cursor: string | null = null
  #code: StreamCloseCode = 'client'

  constructor(options: ConnectionOptions) {
    const { context, webSocket, socket } = options
    this.#options = options
    this.#account = openAccount(context, 'ws')
    this.#flow = createFlow({
      sink: outletSink(socket, context.stallMs),
      reading: webSocket,
      ended: this.#ended.signal,
      onSlow: this.#account.onSlow,
      onStalled: () => this.#closeAfter('too_slow'),
    })
    this.#keepAlive = keepAlive({
      clock: context.clock,
      chance: context.chance,
      ping: (payload) => webSocket.ping(payload),
      isHeld: () => this.#flow.isHeld,
      onDead: () => this.#close(4201, 'no pong within 10 s'),
    })
  }

  open(): void {
    const { context, webSocket, socket, shown, identify } = this.#options
    webSocket.on('message', this.#onMessage)
    webSocket.on('ping', this.#onPing)
    webSocket.on('pong', this.#onPong)
    webSocket.on('error', this.#onProtocolError)
    webSocket.on('close', this.#onClosed)
    context.stopping.addEventListener('abort', this.#onStop)
    if (shown !== null) {
      this.#enqueue(async () => await this.#admit(identify(shown)))
      return
    }
    socket.on('data', this.#countBytes)
    this.#cancelTimer = context.clock.after(AUTH_MS, () =>
      this.#refuse(new StreamRefusal(404, 'no authentication within 10 s', 4001), null),
    )
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
    if (this.#ended.signal.aborted) return
    this.#code = protocolCode(error)
    this.#ended.abort()
  }

  readonly #onClosed = (): void => {
    const { context, onAuthenticated, onClosed } = this.#options
    this.#ended.abort()
    this.#cancelTimer()
    this.#keepAlive.stop()
    context.stopping.removeEventListener('abort', this.#onStop)
    this.#identity?.caller.ended.removeEventListener('abort', this.#onTokenEnded)
    this.#identity?.leave()
    onAuthenticated()
    onClosed()
    this.#account.close(this.#code, this.#identity?.caller ?? null)
  }

  readonly #onTokenEnded = (): void => {
    if (!this.#ended.signal.aborted) this.#refuse(new StreamRefusal(402, TOKEN_ENDED, 4001), null)
  }

  /** A session says goodbye itself, behind what it has read. */
  readonly #onStop = (): void => {
    if (this.#session !== null) return
    const { context, framing } = this.#options
    this.#flow.write(Buffer.concat(framing.goingAway(context.reconnectInMs())))
    this.#closeAfter('drained')
  }

  readonly #countBytes = (chunk: Buffer): void => {
    this.#bytesBeforeAuth += chunk.length
    if (this.#bytesBeforeAuth > MAX_BYTES_BEFORE_AUTH) this.#refuse(tooLarge(MAX_BYTES_BEFORE_AUTH), null)
  }

  #countCommand(): boolean {
    if (this.#ended.signal.aborted) return false
    if (this.#rate.take(this.#options.context.clock.now())) return true
    const detail = `more than ${MAX_COMMANDS_A_SECOND} commands in a second`
    this.#refuse(new StreamRefusal(429, detail, 4129), null)
    return false
  }

  /** One job after the other; the client is not read from until they are done. */
  #enqueue(job: () => Promise<void>): void {
    this.#flow.hold()
    this.#jobs = this.#jobs.then(async () => {
      try {
        if (!this.#ended.signal.aborted) await job()
      } catch (error) {
        this.#refuse(error, null)
      }
      this.#flow.letRead()
    })
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
    if (this.#ended.signal.aborted) return
    const leave = context.tokenPlaces.take(caller)
    if (leave === null) {
      throw new StreamRefusal(406, `this token has ${context.tokenPlaces.limit} streams already`, 4006)
    }
    this.#identity = { caller, leave }
    caller.ended.addEventListener('abort', this.#onTokenEnded)
    this.#cancelTimer()
    socket.off('data', this.#countBytes)
    onAuthenticated()
    this.#control('authenticated', {})
    const { signal } = this.#ended
    await context.reader.copy.whole(signal)
    if (signal.aborted) return
    const { epoch, oldest, latest } = context.reader
    this.#control('hello', { protocol: subprotocol, epoch, oldest, latest, heartbeatMs: HEARTBEAT_MS })
  }

  async #subscribe(command: Command & { action: 'subscribe' }): Promise<void> {
    const { signal } = this.#ended
    const start = await startAt(this.#options.context, command, signal)
    if (start.kind === 'too_old') {
      const detail = `what follows this cursor is no longer kept; oldest=${start.oldest}`
      throw new StreamRefusal(410, detail, 4010)
    }
    this.#session?.replace.abort()
    await this.#session?.done
    // What the subscription before has written is taken first: replacing it never piles up.
    if (!(await this.#flow.room(signal))) return
    const replace = new AbortController()
    this.#session = { replace, done: this.#run(command, start.start, replace.signal) }
  }

  async #run(
    { id, filter, from }: Command & { action: 'subscribe' },
    start: SessionStart,
    replaced: AbortSignal,
  ): Promise<void> {
    const { context, framing } = this.#options
    this.#cursor = start.cursor
    try {
      const end = await runSession({
        reader: context.reader,
        filter,
        start,
        framing,
        opening: Buffer.concat(
          framing.control('subscribed', { id, filter: filter ?? {}, from: fromToJson(from) }),
        ),
        sink: this.#flow,
        clock: context.clock,
        gone: AbortSignal.any([this.#ended.signal, replaced]),
        stopping: context.stopping,
        reconnectInMs: context.reconnectInMs(),
        onSent: this.#account.onSent,
        onCursor: (cursor) => {
          this.#cursor = cursor
        },
        // The flow tells it, whoever wrote.
        onSlow: () => {},
      })
      this.#closeAfter(end)
    } catch (error) {
      this.#refuse(error, id)
    }
  }

  #closeAfter(end: SessionEnd): void {
    switch (end) {
      case 'gone':
        return
      case 'drained':
        return this.#close(4200, 'this node stops; come back at once')
      case 'too_slow':
        return this.#close(4108, 'too slow: nothing was taken for too long')
      case 'fell_behind':
        return this.#close(4108, 'fell behind: what comes next is no longer kept')
    }
  }

  #control(...message: Parameters<MessageFraming['control']>): void {
    this.#flow.write(Buffer.concat(this.#options.framing.control(...message)))
  }

  #refuse(error: unknown, id: string | null): void {
    const refusal = error instanceof StreamRefusal ? error : this.#fault(error)
    const { number, message, closeCode } = refusal
    const about = id === null ? {} : { id }
    this.#control('error', { code: number, name: errorNames[number], detail: message, ...about })
    if (closeCode !== null) this.#close(closeCode, message, closeCode === 4010 ? null : this.#cursor)
  }

  #fault(error: unknown): StreamRefusal {
    this.#options.context.logger.error('stream.failed', { transport: 'ws', error })
    return new StreamRefusal(500, 'something went wrong inside; come back later', 1011)
  }

  #close(code: CloseCode, what: string, cursor = this.#cursor): void {
    if (this.#ended.signal.aborted) return
    this.#code = `${code}`
    this.#ended.abort()
    const { webSocket, context } = this.#options
    if (this.#identity === null) {
      this.#cancelTimer()
      this.#cancelTimer = context.clock.after(STRANGER_LINGER_MS, () => webSocket.terminate())
    }
    // The answer to the close has to be read, whatever held reading up.
    webSocket.resume()
    webSocket.close(code, closeReason(what, cursor))
  }
}

function tooLarge(most: number): StreamRefusal {
  const when = most === MAX_BYTES_BEFORE_AUTH ? ' before authentication' : ''
  return new StreamRefusal(400, `more than ${most} bytes${when}`, 1009)
}
