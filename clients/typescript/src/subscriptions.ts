/**
 * Keeps the subscriptions of a stream, told apart by id: what each asks for, where it resumes, and which events it has
 * had. Builds their commands one at a time, when each may be sent. A filter changes in place: frames of the former
 * subscription are dropped until the bridge has taken the new one.
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

/** One subscription. Another one of the same id is another object, unless only its filter changed. */
export interface Kept {
  wanted: Subscription
  /** Resume point after the last message received; null before the first. */
  received: string | null
  /** Resume point after the last message that the reader has finished; null before the first. */
  finished: string | null
  seen: Seen
  isLive: boolean
}

/** The commands of one id on the present connection. */
interface Commands {
  /** The subscription that the bridge was asked for last; null once it was asked to end it. */
  kept: Kept | null
  sent: number
  answered: number
  /** So many must be answered before a frame counts: those before may be of a former subscription. */
  awaited: number
}

/** A command that makes, replaces or ends a subscription. */
export type Command =
  | (Subscription & { action: 'subscribe'; id: string | undefined })
  | { action: 'unsubscribe'; id: string }

/** The resume point after a message. */
export function cursorOf(message: StreamMessage): string {
  return 'event' in message ? message.event.cursor : message.cursor
}

/** The subscriptions of a stream; undefined is the id of the one that has none. */
export class Subscriptions {
  readonly #kept = new Map<string | undefined, Kept>()
  readonly #commands = new Map<string | undefined, Commands>()
  /** Ids whose subscription the bridge does not know yet, or not in its present form. */
  #due = new Set<string | undefined>()
  /** Ids that ended here and not yet at the bridge. */
  readonly #ending = new Set<string>()
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
    if (before === undefined && this.#kept.size === MOST) {
      throw new RangeError(`a stream has at most ${MOST} subscriptions`)
    }
    if (before !== undefined && wanted.from === undefined) {
      const { from } = before.wanted
      before.wanted = { ...(from !== undefined && { from }), ...wanted }
      before.isLive = false
    } else {
      const seen = createSeen(this.#rememberedIds)
      const finished = before?.finished ?? null
      this.#kept.set(id, { wanted, received: null, finished, seen, isLive: false })
    }
    this.#due.add(id)
    if (id !== undefined) this.#ending.delete(id)
  }

  /** False where there is none of this id. */
  delete(id: string): boolean {
    if (!this.#kept.delete(id)) return false
    this.#due.delete(id)
    if ((this.#commands.get(id)?.kept ?? null) !== null) this.#ending.add(id)
    return true
  }

  /** A new connection, on which nothing is subscribed yet. */
  connected(): void {
    this.#commands.clear()
    this.#ending.clear()
    this.#due = new Set(this.#kept.keys())
  }

  /** The next command, which is about to be sent; null where none may be sent now. */
  next(): Command | null {
    // Those that end come first, so that the bridge never has more than it allows.
    const [ending] = this.#ending
    if (ending !== undefined) return this.#end(ending)
    for (const id of this.#due) {
      const kept = this.#kept.get(id)
      if (kept !== undefined && !this.#mustWait(id, kept)) return this.#begin(id, kept)
    }
    return null
  }

  /** The bridge has taken a subscription. */
  answered(id: string | undefined): void {
    const commands = this.#commands.get(id)
    if (commands !== undefined) commands.answered += 1
  }

  /** Takes a message's place. Null for one to drop: a repeat, or of a subscription that was replaced or ended. */
  take(message: StreamMessage): Kept | null {
    const { id } = message
    const kept = this.#kept.get(id)
    const commands = this.#commands.get(id)
    if (kept === undefined || commands?.kept !== kept || commands.answered < commands.awaited) return null
    kept.received = cursorOf(message)
    if (message.type === 'live' && !this.#due.has(id)) kept.isLive = true
    return 'event' in message && !kept.seen.isNew(message.event.id, message.json) ? null : kept
  }

  get isEmpty(): boolean {
    return this.#kept.size === 0
  }

  /** Whether each has caught up. */
  get areLive(): boolean {
    return [...this.#kept.values()].every(({ isLive }) => isLive)
  }

  /** Resume point of the subscription without an id, after what the reader has finished; null before the first message. */
  get cursor(): string | null {
    return this.#kept.get(undefined)?.finished ?? null
  }

  /** The same of those with an id, by id. */
  get cursors(): Record<string, string> {
    return Object.fromEntries(
      [...this.#kept].flatMap(([id, { finished }]) =>
        id === undefined || finished === null ? [] : [[id, finished]],
      ),
    )
  }

  /**
   * Whether a changed subscription waits for its first message: one that began with new events has no resume point before,
   * and would lose those that came between the two commands.
   */
  #mustWait(id: string | undefined, kept: Kept): boolean {
    const startsLive = kept.received === null && (kept.wanted.from ?? 'live') === 'live'
    return startsLive && this.#commands.get(id)?.kept === kept
  }

  #begin(id: string | undefined, kept: Kept): Command {
    this.#due.delete(id)
    const { sent, answered } = this.#commands.get(id) ?? { sent: 0, answered: 0 }
    this.#commands.set(id, { kept, sent: sent + 1, answered, awaited: sent === 0 ? 0 : sent + 1 })
    kept.isLive = false
    const start = kept.received === null ? {} : { from: { after: kept.received } }
    return { action: 'subscribe', id, ...kept.wanted, ...start }
  }

  #end(id: string): Command {
    this.#ending.delete(id)
    const commands = this.#commands.get(id)
    if (commands !== undefined) commands.kept = null
    return { action: 'unsubscribe', id }
  }
}
