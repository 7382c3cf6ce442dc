/**
 * Serves one stream of server-sent events from its response head to its end. It ends when the client stalls, the token expires
 * or the node stops.
 */
import type { Socket } from 'node:net'
import type { Filter } from '../../core/filter/filter.ts'
import type { Caller } from '../../http/auth.ts'
import { endLongAnswer } from '../../http/long-answer.ts'
import { ServerResponse } from '../../lifecycle/node-http.ts'
import type { StreamCloseCode } from '../../obs/metrics.ts'
import type { Framing } from '../fanout/framing.ts'
import type { OpenStream } from '../fanout/open-streams.ts'
import { Session, type SessionClient, type SessionEnd, type SessionStart } from '../fanout/session.ts'
import { SocketWriter, type WriterOwner } from '../fanout/socket-writer.ts'
import { StreamAccount } from '../fanout/stream-account.ts'
import type { TokenBound } from '../limits/token-expiry.ts'
import type { StreamContext } from './context.ts'
import { RETRY_FRAME } from './sse-frames.ts'

/** One stream of server-sent events. */
export class SseStream implements WriterOwner, SessionClient, TokenBound, OpenStream {
  /** Owned by the list of open streams. */
  number = 0
  readonly #context: StreamContext
  readonly #response: Socket | ServerResponse
  readonly caller: Caller
  readonly #freeSlots: () => void
  readonly framing: Framing
  readonly account: StreamAccount
  readonly writer: SocketWriter
  #session: Session | null = null
  #isOver = false
  #code: StreamCloseCode = 'client'

  /** `remote`: the client's address as it is counted. `freeSlots` is called once, when the stream is over. */
  constructor(
    context: StreamContext,
    response: Socket | ServerResponse,
    { caller, remote, freeSlots }: { caller: Caller; remote: string; freeSlots: () => void },
  ) {
    this.#context = context
    this.framing = context.sseFraming
    this.#response = response
    this.caller = caller
    this.#freeSlots = freeSlots
    this.account = new StreamAccount(context, 'sse', remote)
    const kind = response instanceof ServerResponse ? 'response' : 'chunked'
    this.writer = new SocketWriter(response, kind, context, this)
  }

  /** Begins the session. `latestEndMs`: when it ends at the latest, ms since 1970. */
  start(filter: Filter | null, start: SessionStart, latestEndMs: number): void {
    this.#context.open.add(this)
    this.#context.tokenExpiry.add(this.caller.ended, this)
    this.#response.on('close', this.#finish)
    const endsMs = Math.min(this.#context.endsMs(), latestEndMs)
    this.#session = new Session(this.#context, this, {
      ...{ filter, start, endsMs },
      opening: RETRY_FRAME,
      caller: this.caller,
    })
    this.#session.start()
  }

  onFull(): void {
    this.account.onSlow(true)
  }

  onRoom(): void {
    if (this.#isOver) return
    this.account.onSlow(false)
    this.#session?.onRoom()
  }

  /** Destroys the response too: the end of a response waits for the client to take what was written. */
  onStalled(): void {
    this.#end('4108')
    this.#response.destroy()
  }

  onEnd(end: SessionEnd): void {
    if (end === 'lifetime_over') this.onNodeStops()
    else this.#end('4108')
  }

  onFault(error: unknown): void {
    this.#context.logger.error('stream.failed', { transport: 'sse', error })
    this.#end('500')
  }

  onTokenEnded(): void {
    if (this.#isOver) return
    this.#end('4001')
    if (this.writer.isFull) this.#response.destroy()
  }

  /** The same EventSource has connected again. */
  onReplaced(): void {
    if (!this.#isOver) this.#end('4006')
  }

  /** Its one session, which has no id. */
  sessions(): [null, Session][] {
    return this.#session === null ? [] : [[null, this.#session]]
  }

  onDeleted(): void {
    if (this.#isOver) return
    this.#end('4007')
    if (this.writer.isFull) this.#response.destroy()
  }

  onNodeStops(): void {
    if (this.#isOver) return
    this.writer.write(Buffer.concat(this.framing.goingAway(this.#context.reconnectInMs())))
    this.#end('4200')
  }

  #end(code: StreamCloseCode): void {
    this.#code = code
    this.#finish()
    endLongAnswer(this.#response)
  }

  /** Stops writing and frees what the stream holds. */
  readonly #finish = (): void => {
    if (this.#isOver) return
    this.#isOver = true
    this.#session?.stop()
    this.#context.open.delete(this)
    if (this.writer.isFull) this.account.onSlow(false)
    this.#context.tokenExpiry.remove(this.caller.ended, this)
    this.account.close(this.#code, this.caller)
    this.#freeSlots()
  }
}
