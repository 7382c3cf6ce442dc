/**
 * Holds the rows of the feed and decides when they change: once a frame while it runs, not at all while it is paused. It
 * resumes after its last event, and disconnects while nobody sees the page and nothing is to be signalled.
 */
import type { Filter } from '../../../../../clients/typescript/src/messages.ts'
import type { Message } from '../../../../../clients/typescript/src/stream.ts'
import type { ConsoleServices } from '../../shell/services.ts'
import { createStore, type Store } from '../../shell/store.ts'
import { datedBy, type FeedRow, rowOf } from './feed-rows.ts'
import type { FeedStreamOptions } from './feed-stream.ts'

/** Why the feed rests. */
export type PauseReason = 'key' | 'filter' | 'scroll' | 'selection'

/** The connection as the reader sees it. */
export type FeedConnection =
  | { state: 'connecting' | 'catching_up' | 'live' | 'hidden' }
  | { state: 'away'; why: string; retryAtMs: number | null }
  | { state: 'over'; why: string }

/** What the feed shows. */
export interface FeedView {
  /** The newest first. */
  rows: readonly FeedRow[]
  /** Events that arrived since the pause, and are not in `rows`. */
  waiting: number
  /** `atMs`: by the bridge's clock, ms since 1970. */
  paused: { reason: PauseReason; atMs: number } | null
  connection: FeedConnection
  /** When the last message came, heartbeats too; ms since 1970 by this browser's clock. */
  heardMs: number | null
  /** Rows that have arrived after the first ones, since the feed was opened. */
  arrived: number
  /** Rows that are no longer kept, because so many newer ones came, since the feed was opened. */
  dropped: number
  /** How often the reader has resumed: the rows are shown from their top each time. */
  resumed: number
}

/** What the model works with. */
export interface FeedParts extends Pick<ConsoleServices, 'clock' | 'visibility' | 'status'> {
  filter: Filter
  /** Follows the stream until the returned function is called. */
  follow: (options: Omit<FeedStreamOptions, 'api'>) => () => void
  /** By how much the bridge's clock is ahead of the browser's, ms. */
  aheadMs: () => number
  /** Called with each row that arrives after the first ones, at once. */
  onNew: (row: FeedRow) => void
  /** Whether rows are wanted while the page is hidden. */
  staysWhenHidden: () => boolean
  /** Receives what `onNew` throws: the feed goes on. */
  onFault: (fault: unknown) => void
}

/** Rows in the list, and as many again that wait during a pause. */
export const MOST_ROWS = 1000
const FIRST_ROWS = 200
/** Rows do not move under a pointer that has just moved. */
const HOLD_MS = 1500
/** In a burst rows are redrawn so often: nobody reads faster, and the frames between stay short. */
export const REDRAW_MS = 200

/** The feed of one filter. */
export class FeedModel {
  readonly view: Store<FeedView>
  readonly #parts: FeedParts
  /** Arrived and not shown yet, the newest last. */
  #pending: FeedRow[] = []
  #dropped = 0
  #cursor: string | null = null
  #isCaughtUp = false
  #heldUntilMs = 0
  #redrawDueMs = 0
  #isAtTop = true
  /** Whether rows came before upstream's clock was known. */
  #hasUndated = false
  #heardMs: number | null = null
  #connection: FeedConnection = { state: 'connecting' }
  #close = (): void => {}
  #cancelFrame: (() => void) | null = null
  #cancelLater: (() => void) | null = null
  #ends: (() => void)[] = []

  constructor(parts: FeedParts) {
    this.#parts = parts
    this.view = createStore<FeedView>({
      rows: [],
      waiting: 0,
      paused: null,
      connection: this.#connection,
      heardMs: null,
      arrived: 0,
      dropped: 0,
      resumed: 0,
    })
  }

  /** Connects, and follows visibility and status. Returns the end. */
  start(): () => void {
    const { visibility, status } = this.#parts
    let wasGone = false
    this.#ends = [
      visibility.follow(() => this.#onVisibility()),
      // The client waits longer from try to try; a bridge that was gone and answers again is not waited for.
      status.reported.follow(() => {
        const { problem } = status.reported.get()
        if (this.#connection.state === 'away' && wasGone && problem === null) this.connect()
        // One that answers, if only with a refusal, was not gone: the client's own wait holds.
        wasGone = problem !== null && (wasGone || problem.kind === 'unreachable')
        if (this.#hasUndated) this.#schedule()
      }),
    ]
    if (visibility.get() || this.#parts.staysWhenHidden()) this.connect()
    else this.#setConnection({ state: 'hidden' })
    return () => {
      this.#close()
      this.#cancelFrame?.()
      this.#cancelLater?.()
      for (const end of this.#ends) end()
    }
  }

  pause(reason: PauseReason): void {
    if (this.view.get().paused !== null) return
    const atMs = this.#parts.clock.now() + this.#parts.aheadMs()
    this.view.set({ ...this.view.get(), paused: { reason, atMs } })
  }

  /** By a key: what the reader sees may be a repaint behind, so what holds now decides. */
  togglePause(): void {
    if (this.view.get().paused === null) this.pause('key')
    else this.resume()
  }

  /** Goes on from the top; with a reason only where the feed rests for that one. */
  resume(reason?: PauseReason): void {
    const before = this.view.get()
    const { paused } = before
    if (paused === null || (reason !== undefined && paused.reason !== reason)) return
    if (reason !== undefined && !this.#isAtTop) {
      // The reader has scrolled away meanwhile, and reads on there.
      this.view.set({ ...before, paused: { ...paused, reason: 'scroll' } })
      return
    }
    this.view.set({ ...before, paused: null, resumed: before.resumed + 1 })
    this.#heldUntilMs = 0
    this.#redrawDueMs = 0
    this.#show()
  }

  /** The reader has scrolled the rows, to their top or elsewhere. */
  scrolled(isAtTop: boolean): void {
    this.#isAtTop = isAtTop
    if (isAtTop) this.resume('scroll')
    else this.pause('scroll')
  }

  /** The pointer moves over the rows. */
  hold(): void {
    this.#heldUntilMs = this.#parts.clock.now() + HOLD_MS
  }

  /** Connects anew, after the last event. */
  connect(): void {
    this.#close()
    this.#setConnection({ state: this.#cursor === null ? 'connecting' : 'catching_up' })
    const { follow, filter } = this.#parts
    const from = this.#cursor === null ? { tail: FIRST_ROWS } : { after: this.#cursor }
    this.#close = follow({
      filter,
      from,
      onMessage: (message) => this.#onMessage(message),
      onFailure: (why) => this.#setConnection({ state: 'over', why }),
    })
  }

  #onVisibility(): void {
    if (this.#parts.visibility.get()) {
      if (this.#connection.state === 'hidden') this.connect()
      this.#schedule()
    } else if (!this.#parts.staysWhenHidden()) {
      this.#close()
      this.#setConnection({ state: 'hidden' })
    }
  }

  #onMessage(message: Message): void {
    const { clock, status } = this.#parts
    this.#heardMs = clock.now()
    switch (message.type) {
      case 'connected':
        this.#setConnection({ state: 'catching_up' })
        return
      case 'disconnected': {
        const retryAtMs = message.retryInMs === null ? null : clock.now() + message.retryInMs
        this.#setConnection({ state: 'away', why: message.why, retryAtMs })
        status.askNow()
        return
      }
      case 'live':
        this.#isCaughtUp = true
        this.#cursor = message.cursor
        this.#setConnection({ state: 'live' })
        return
      case 'heartbeat':
        this.#cursor = message.cursor
        this.#schedule()
        return
      default:
        this.#cursor = message.event.cursor
        this.#add(rowOf(message.event, status.reported.get().status?.upstream.aheadMs ?? null))
    }
  }

  #add(row: FeedRow): void {
    this.#pending.push(row)
    if (this.#pending.length > MOST_ROWS * 2) {
      this.#dropped += this.#pending.length - MOST_ROWS
      this.#pending = this.#pending.slice(-MOST_ROWS)
    }
    this.#hasUndated ||= row.kind === 'announcement' && row.aheadMs === null
    if (this.#isCaughtUp) this.#signal(row)
    this.#schedule()
  }

  #signal(row: FeedRow): void {
    const { onNew, onFault } = this.#parts
    try {
      onNew(row)
    } catch (fault) {
      onFault(fault)
    }
  }

  #setConnection(connection: FeedConnection): void {
    this.#connection = connection
    this.#schedule()
  }

  /** One repaint a frame at most, however many messages come. A hidden page has no frames: the next visible one shows all. */
  #schedule(): void {
    this.#cancelFrame ??= this.#parts.clock.frame(() => {
      this.#cancelFrame = null
      this.#show()
    })
  }

  #show(): void {
    const before = this.view.get()
    const nowMs = this.#parts.clock.now()
    const heldMs = leftOf(this.#heldUntilMs - nowMs, HOLD_MS)
    const isHeld = heldMs > 0 && before.rows.length > 0
    const common = { ...before, connection: this.#connection, heardMs: this.#heardMs }
    if (before.paused !== null || isHeld) {
      this.view.set({ ...common, waiting: this.#pending.length + this.#dropped })
      if (before.paused === null) this.#showLater(heldMs)
      return
    }
    const redrawMs = leftOf(this.#redrawDueMs - nowMs, REDRAW_MS)
    if (redrawMs > 0 && before.rows.length > 0) {
      if (before.connection !== this.#connection) this.view.set(common)
      this.#showLater(redrawMs)
      return
    }
    const { pending, dropped } = this.#takePending()
    if (pending.length > 0) this.#redrawDueMs = nowMs + REDRAW_MS
    const all = pending.length === 0 ? before.rows : [...pending.reverse(), ...before.rows]
    const rows = this.#dated(all.length > MOST_ROWS ? all.slice(0, MOST_ROWS) : all)
    this.view.set({
      ...common,
      rows,
      waiting: 0,
      arrived: before.arrived + pending.length + dropped,
      dropped: before.dropped + dropped + all.length - rows.length,
    })
  }

  #takePending(): { pending: FeedRow[]; dropped: number } {
    const taken = { pending: this.#pending, dropped: this.#dropped }
    this.#pending = []
    this.#dropped = 0
    return taken
  }

  /** Rows that came before upstream's clock was known go by it as it is now, and no longer change then. */
  #dated(rows: readonly FeedRow[]): readonly FeedRow[] {
    const aheadMs = this.#parts.status.reported.get().status?.upstream.aheadMs ?? null
    if (!this.#hasUndated || aheadMs === null) return rows
    this.#hasUndated = false
    return rows.map((row) => datedBy(row, aheadMs))
  }

  #showLater(delayMs: number): void {
    this.#cancelLater ??= this.#parts.clock.after(delayMs, () => {
      this.#cancelLater = null
      this.#show()
    })
  }
}

/** What is left of a wait, ms; nothing of one that seems longer than it was made: the browser's clock was set back. */
function leftOf(remainingMs: number, longestMs: number): number {
  return remainingMs > longestMs ? 0 : Math.max(0, remainingMs)
}
