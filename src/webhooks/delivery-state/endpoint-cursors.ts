/**
 * Tracks the read positions of one webhook endpoint, one for new events and one for each replay, and builds the rows
 * that store them. Replays run one after the other.
 */
import type { Change } from '../../log/tables.ts'
import { type DeliveryRow, positionKey, type ReplayOnly, type ReplayRow, replayKey } from './delivery-rows.ts'
import type { StoredCondition } from './endpoint-failing.ts'
import { Progress } from './endpoint-progress.ts'

/** A replay to begin or to continue. */
export interface ReplayStart {
  id: string
  /** Everything up to here is decided. */
  base: number
  ahead: readonly number[]
  until: number
  only: ReplayOnly
  createdAtMs: number
  /** Where it began; absent: it is not known. */
  from?: number
  /** How many deliveries it was to make, as counted when it was requested; absent: it is not known. */
  count?: number
  /** False where it has no row yet. */
  isWritten: boolean
}

/** How far a replay has come. */
export interface ReplayStanding {
  id: string
  createdAtMs: number
  /** Where it began; null: it is not known. */
  from: number | null
  until: number
  /** Everything up to here is decided. */
  position: number
  only: 'all' | 'dead' | 'ids'
  /** How many deliveries it was to make; null: it is not known. */
  count: number | null
}

/** The dead deliveries: gives their sequences after `after`, up to `until`, rising. */
interface Dead {
  in(after: number, until: number): readonly number[]
}

/** Rows of cursors to write, and what to call when they are durable. */
interface Positions {
  changes: readonly Change<DeliveryRow>[]
  settled(): void
}

interface Cursor {
  progress: Progress
  /** The position in the durable row. */
  writtenBase: number
  /** Its row must be written, even where the position did not move. */
  mustWrite: boolean
}

interface Replay extends Cursor {
  start: ReplayStart
  /** The sequences to replay, rising; null: all that match. */
  only: readonly number[] | null
}

/**
 * The cursors of an endpoint. `D`: what is kept of a replayed event until it is sent.
 */
export class EndpointCursors<D extends { sequence: number }> {
  /** The cursor over new events. */
  readonly live: Cursor
  readonly #endpointId: string
  readonly #dead: Dead
  readonly #onDropped: (delivery: D) => void
  #replays: Replay[]
  /** Events of the first replay that were read and not sent yet. */
  #unsent: D[] = []
  /** Ids of cancelled replays whose rows are to be deleted. */
  #cancelled: string[] = []

  /** Continues from what was left. */
  constructor(
    endpointId: string,
    loaded: Pick<ReplayStart, 'base' | 'ahead' | 'isWritten'> & { replays: readonly ReplayStart[] },
    dead: Dead,
    onDropped: (delivery: D) => void,
  ) {
    this.#endpointId = endpointId
    this.#dead = dead
    this.#onDropped = onDropped
    this.live = cursorFrom(loaded)
    this.#replays = loaded.replays.map((start) => this.#opened(start))
  }

  /** The replay that is read now; null: none. */
  get replay(): { id: string; progress: Progress; until: number; only: readonly number[] | null } | null {
    const [first] = this.#replays
    if (first === undefined || isOver(first)) return null
    const { start, progress, only } = first
    return { id: start.id, until: start.until, progress, only }
  }

  /** Ids of the replays that are not over, in their order. */
  replayIds(): readonly string[] {
    return this.#replays.map(({ start }) => start.id)
  }

  /** How far they have come; nothing where there is none. */
  standings(): { replays?: readonly ReplayStanding[] } {
    if (this.#replays.length === 0) return {}
    const replays = this.#replays.map(({ start, progress }) => {
      const { id, createdAtMs, from = null, until, count = null } = start
      const only = start.only === null ? 'all' : start.only === 'dead' ? 'dead' : 'ids'
      return { id, createdAtMs, from, until, position: progress.base, only, count } as const
    })
    return { replays }
  }

  /** Ends a replay; the removal of its row is pending. What waits for a retry stays. False where there is none of this id. */
  cancel(id: string): boolean {
    const at = this.replayIds().indexOf(id)
    if (at < 0) return false
    this.#replays.splice(at, 1)
    this.#cancelled.push(id)
    if (at === 0) for (const delivery of this.#unsent.splice(0)) this.#onDropped(delivery)
    return true
  }

  /** Adds a replay after the present ones. Its row is pending. */
  addReplay(start: ReplayStart): void {
    this.#replays.push(this.#opened(start))
  }

  /** Replayed events that were read and not sent yet. */
  replayed(): readonly D[] {
    return this.#unsent
  }

  /** Takes an event of the replay; events come in rising order. False where it was decided before. */
  replaySeen(delivery: D): boolean {
    const isNew = this.#replays[0]?.progress.seen(delivery.sequence) ?? false
    if (isNew) this.#unsent.push(delivery)
    return isNew
  }

  /** An event of the replay waits for a retry anyway. */
  replayKept(sequence: number): void {
    const progress = this.#replays[0]?.progress
    if (progress?.seen(sequence)) progress.kept(sequence)
  }

  /** Takes replayed events that are sent together, `most` at most: those that `isNext` after the ones taken before. */
  takeReplayed(most: number, isNext: (delivery: D, taken: ReadonlyMap<number, D>) => boolean): D[] {
    const taken = new Map<number, D>()
    for (const delivery of this.#unsent) {
      if (taken.size < most && isNext(delivery, taken)) taken.set(delivery.sequence, delivery)
    }
    this.#unsent = this.#unsent.filter(({ sequence }) => !taken.has(sequence))
    return [...taken.values()]
  }

  /** A durable retry row holds the event. */
  kept(sequence: number): void {
    for (const { progress } of this.#all()) progress.kept(sequence)
  }

  /** The event is delivered or dead: the rows of all cursors behind it must record it. */
  done(sequence: number): void {
    for (const cursor of this.#all()) {
      // A retry row may end before the live cursor has read its event again; a replay that has not reached it sends it anyway.
      const isUnread = cursor !== this.live && sequence > cursor.progress.readTo
      if (sequence <= cursor.writtenBase || isUnread) continue
      cursor.progress.done(sequence)
      cursor.mustWrite = true
    }
  }

  /** True where a row must be written. */
  hasPendingRows(): boolean {
    const isPending = this.live.mustWrite || this.#cancelled.length > 0
    return isPending || this.#replays.some((replay) => replay.mustWrite || isOver(replay))
  }

  /** Takes the pending rows; `flush`: also of every cursor that merely moved. */
  take(options: {
    cursorAt: (sequence: number) => string
    /** The rest of the position's row. */
    condition: StoredCondition
    flush: boolean
  }): Positions {
    const { cursorAt, condition, flush } = options
    const mustWrite = (cursor: Cursor): boolean =>
      cursor.mustWrite || (flush && cursor.progress.base !== cursor.writtenBase)
    const written: { cursor: Cursor; base: number }[] = []
    const changes: Change<DeliveryRow>[] = []
    const add = (cursor: Cursor, change: Change<DeliveryRow>): void => {
      cursor.mustWrite = false
      written.push({ cursor, base: cursor.progress.base })
      changes.push(change)
    }
    if (mustWrite(this.live)) {
      const { progress } = this.live
      const value = { cursor: cursorAt(progress.base), ahead: progress.ahead(), ...condition }
      add(this.live, { key: positionKey(this.#endpointId), value: { kind: 'position', ...value } })
    }
    for (const replay of this.#replays) {
      if (mustWrite(replay) || isOver(replay)) add(replay, this.#replayChange(replay, cursorAt))
    }
    this.#replays = this.#replays.filter((replay) => !isOver(replay))
    for (const id of this.#cancelled.splice(0))
      changes.push({ key: replayKey(this.#endpointId, id), value: null })
    return {
      changes,
      settled() {
        for (const { cursor, base } of written) cursor.writtenBase = base
      },
    }
  }

  #all(): Cursor[] {
    return [this.live, ...this.#replays]
  }

  #opened(start: ReplayStart): Replay {
    const only = start.only === 'dead' ? this.#dead.in(start.base, start.until) : start.only
    return { ...cursorFrom(start), start, only }
  }

  #replayChange(replay: Replay, cursorAt: (sequence: number) => string): Change<DeliveryRow> {
    const { id, until, only, createdAtMs, from, count } = replay.start
    const key = replayKey(this.#endpointId, id)
    if (isOver(replay)) return { key, value: null }
    const { progress } = replay
    const value: ReplayRow = {
      kind: 'replay',
      cursor: cursorAt(progress.base),
      ahead: progress.ahead(),
      until,
      only,
      createdAtMs,
      ...(from !== undefined && { from }),
      ...(count !== undefined && { count }),
    }
    return { key, value }
  }
}

function cursorFrom({ base, ahead, isWritten }: Pick<ReplayStart, 'base' | 'ahead' | 'isWritten'>): Cursor {
  return { progress: new Progress(base, ahead), writtenBase: base, mustWrite: !isWritten }
}

function isOver({ progress, start }: Replay): boolean {
  return progress.readTo >= start.until && progress.base >= start.until
}

/** Whether a replay is of the waiting event at that sequence; what waits is not dead. */
export function concerns(
  { base, until, only }: Pick<ReplayStart, 'base' | 'until' | 'only'>,
  sequence: number,
): boolean {
  const isInside = sequence > base && sequence <= until
  return isInside && (only === null || (only !== 'dead' && only.includes(sequence)))
}
