/**
 * Holds the subscriptions of one WebSocket, each under an id that the client gives: begins, replaces and ends them, and gives each
 * its turn when the client has taken everything.
 */
import type { Caller } from '../../http/auth.ts'
import type { Framing } from '../fanout/framing.ts'
import { Session, type SessionClient, type SessionEnd, type SessionStart } from '../fanout/session.ts'
import type { StreamCommand } from './commands.ts'
import { fromToJson } from './commands.ts'
import type { StreamContext } from './context.ts'
import type { MessageFraming } from './ws-frames.ts'

/** Most subscriptions of a connection. */
export const MAX_SUBSCRIPTIONS = 16

/** The connection that the subscriptions write to. */
export interface Subscriber extends Pick<SessionClient, 'writer' | 'account'> {
  readonly framing: MessageFraming
  /** A session ended by itself: the connection ends. */
  onEnd(end: SessionEnd): void
  /** Reading for the subscription of that id failed: the connection ends. */
  onFault(error: unknown, id: string | null): void
}

/** A command that begins a subscription. */
export type Subscribe = StreamCommand & { action: 'subscribe' }

/** The subscriptions of one connection. */
export class Subscriptions {
  readonly #context: StreamContext
  readonly #subscriber: Subscriber
  /** By the client's id; null is that of a command without one. The first has its turn first. */
  readonly #sessions = new Map<string | null, Session>()
  /** The id of the subscription that began while there was no other. */
  #firstId: string | null = null

  constructor(context: StreamContext, subscriber: Subscriber) {
    this.#context = context
    this.#subscriber = subscriber
  }

  /** Whether a subscription of this id may begin: it replaces its own, or there is room for one more. */
  hasRoom(id: string | null): boolean {
    return this.#sessions.has(id) || this.#sessions.size < MAX_SUBSCRIPTIONS
  }

  /** The framing of a subscription of this id that may begin. */
  framingOf(id: string | null): Framing {
    const isFirst = this.#sessions.size === 0 || id === this.#firstId
    return this.#subscriber.framing.forSubscription(id, isFirst)
  }

  /** Begins a subscription, after `stop` of the one with the same id. `caller`: whose it is. */
  begin({ id, filter, from }: Subscribe, start: SessionStart, caller: Caller | undefined): void {
    const subscriber = this.#subscriber
    const framing = this.framingOf(id)
    if (this.#sessions.size === 0) this.#firstId = id
    const client: SessionClient = {
      framing,
      writer: subscriber.writer,
      account: subscriber.account,
      onEnd: (end) => subscriber.onEnd(end),
      onFault: (error) => subscriber.onFault(error, id),
    }
    const members = { id, filter: filter ?? {}, from: fromToJson(from) }
    const session = new Session(this.#context, client, {
      filter,
      start,
      opening: Buffer.concat(subscriber.framing.control('subscribed', members)),
      endsMs: this.#context.endsMs(),
      caller,
    })
    this.#sessions.set(id, session)
    session.start()
  }

  /** Ends the subscription of that id: nothing more of it is written. False where there is none. */
  stop(id: string | null): boolean {
    this.#sessions.get(id)?.stop()
    return this.#sessions.delete(id)
  }

  /** Ends all of them. `cursor` stays. */
  stopAll(): void {
    for (const session of this.#sessions.values()) session.stop()
  }

  /** All of them, by their ids. */
  all(): Iterable<[string | null, Session]> {
    return this.#sessions
  }

  /** The client has taken everything. The first subscription to read may fill the writer again, so each time another is first. */
  onRoom(): void {
    const [first] = this.#sessions
    if (first !== undefined && this.#sessions.size > 1) {
      this.#sessions.delete(first[0])
      this.#sessions.set(...first)
    }
    for (const session of this.#sessions.values()) session.onRoom()
  }

  /** The resume point of the only subscription; null where there is none or several. */
  get cursor(): string | null {
    const [only, ...more] = this.#sessions.values()
    return only === undefined || more.length > 0 ? null : only.cursor
  }
}
