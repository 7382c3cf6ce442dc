/**
 * Keeps the subscriptions of a stream, told apart by id: what each asks for, where it resumes, and which events it has
 * had. A filter changes in place: frames of the former subscription are dropped until the bridge has taken the new one.
 */
import type { Filter, From, StreamMessage } from './messages.ts'
import { createSeen, type Seen } from './seen.ts'

/** What a subscription asks for. */
export interface Subscription {
  /** Which events; default all. */
  filter?: Filter
  /** Where it starts; default `live`. */
  from?: From
  /** `earliest`: where the cursor is too old, start at the oldest event kept, after a `gap`, instead of failing. */
  onGap?: 'earliest'
}

/** Subscriptions of one connection, as the bridge allows them. */
const MOST = 16

interface Kept {
  wanted: Subscription
  /** Resume point after the last message received; null before the first. */
  received: string | null
  seen: Seen
  isLive: boolean
}

/** The `subscribe` commands of one id on the present connection. */
interface Commands {
  sent: number
  answered: number
  /** So many must be answered before a frame counts: those before may be of a former subscription. */
  awaited: number
}

/** The command that makes or replaces a subscription. */
export interface SubscribeCommand extends Subscription {
  action: 'subscribe'
  id: string | undefined
}

/** The subscriptions of a stream; undefined is the id of the one that has none. */
export class Subscriptions {
  readonly #kept = new Map<string | undefined, Kept>()
  readonly #commands = new Map<string | undefined, Commands>()
  readonly #rememberedIds: number

  constructor(rememberedIds: number) {
    this.#rememberedIds = rememberedIds
  }

  /**
   * Adds a subscription, or replaces the one of this id. Without `from` the new one continues after the last message of
   * the one before. @throws RangeError for more than a connection may have
   */
  set(id: string | undefined, wanted: Subscription): void {
    const before = this.#kept.get(id)
    if (before !== undefined && wanted.from === undefined) {
      const { from } = before.wanted
      before.wanted = { ...(from !== undefined && { from }), ...wanted }
      return
    }
    if (before === undefined && this.#kept.size === MOST) {
      throw new RangeError(`a stream has at most ${MOST} subscriptions`)
    }
    const seen = createSeen(this.#rememberedIds)
    this.#kept.set(id, { wanted, received: null, seen, isLive: false })
  }

  /** False where there is none of this id. */
  delete(id: string | undefined): boolean {
    return this.#kept.delete(id)
  }

  /** The command for the subscription of this id, which is about to be sent. */
  command(id: string | undefined): SubscribeCommand {
    const kept = this.#kept.get(id)
    if (kept === undefined) throw new Error('there is no such subscription')
    const { sent, answered } = this.#commands.get(id) ?? { sent: 0, answered: 0 }
    this.#commands.set(id, { sent: sent + 1, answered, awaited: sent === 0 ? 0 : sent + 1 })
    kept.isLive = false
    const start = kept.received === null ? {} : { from: { after: kept.received } }
    return { action: 'subscribe', id, ...kept.wanted, ...start }
  }

  /** The commands for a new connection, on which nothing is subscribed yet. */
  commands(): SubscribeCommand[] {
    this.#commands.clear()
    return [...this.#kept.keys()].map((id) => this.command(id))
  }

  /** The bridge has taken a subscription. */
  answered(id: string | undefined): void {
    const commands = this.#commands.get(id)
    if (commands !== undefined) commands.answered += 1
  }

  /** Takes a message's place. False for one to drop: a repeat, or of a subscription that was replaced or ended. */
  take(message: StreamMessage): boolean {
    const kept = this.#kept.get(message.id)
    const { answered, awaited } = this.#commands.get(message.id) ?? { answered: 0, awaited: 0 }
    if (kept === undefined || answered < awaited) return false
    kept.received = 'event' in message ? message.event.cursor : message.cursor
    if (message.type === 'live') kept.isLive = true
    return !('event' in message) || kept.seen.isNew(message.event.id, message.json)
  }

  get isEmpty(): boolean {
    return this.#kept.size === 0
  }

  /** Whether each has caught up. */
  get areLive(): boolean {
    return [...this.#kept.values()].every(({ isLive }) => isLive)
  }
}
