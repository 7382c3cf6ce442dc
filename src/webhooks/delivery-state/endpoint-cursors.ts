/**
 * The cursors of one endpoint: the one over new events, and its replays, one after the other. Owns their rows and which of
 * them an outcome concerns. Refuses to read events and to decide what becomes of one.
 */
import type { Change } from '../../log/log.ts'
import { type DeliveryRow, positionKey, type ReplayOnly, type ReplayRow, replayKey } from './delivery-rows.ts'
import { createProgress, type Progress } from './endpoint-progress.ts'

/** A replay to begin, or to go on with. */
export interface ReplayStart {
  id: string
  /** Everything of it up to here is decided. */
  base: number
  ahead: readonly number[]
  until: number
  only: ReplayOnly
  createdAtMs: number
  /** False for one that has no row yet. */
  isWritten: boolean
}

/** What has to be written of the cursors, and what follows when it is durable. */
export interface Positions {
  changes: readonly Change<DeliveryRow>[]
  settled(): void
}

interface Cursor {
  progress: Progress
  /** What the durable row says. */
  writtenBase: number
  /** Its row holds something that stands nowhere else. */
  mustWrite: boolean
}

interface Replay extends Cursor {
  start: ReplayStart
  /** The sequences that it is about, rising; null: all that match. */
  only: readonly number[] | null
}

/** What a cursor needs to know of a replayed event. */
interface Replayed {
  sequence: number
  subject: string
}

/**
 * The cursors as they were left. `D`: what is kept of a replayed event until it is sent. `deadIn` gives the dead behind
 * `after`, up to `until`, rising.
 */
export function createCursors<D extends Replayed>(
  endpointId: string,
  loaded: {
    base: number
    isWritten: boolean
    ahead: readonly number[]
    replays: readonly ReplayStart[]
  },
  deadIn: (after: number, until: number) => readonly number[],
) {
  const cursor = ({ base, ahead, isWritten }: Pick<ReplayStart, 'base' | 'ahead' | 'isWritten'>): Cursor => ({
    progress: createProgress(base, ahead),
    writtenBase: base,
    mustWrite: !isWritten,
  })
  const opened = (start: ReplayStart): Replay => {
    const only = start.only === 'dead' ? deadIn(start.base, start.until) : start.only
    return { ...cursor(start), start, only }
  }
  const live = cursor(loaded)
  let replays = loaded.replays.map(opened)
  /** Read of the first replay, and not sent yet. */
  let unsent: D[] = []

  const isOver = ({ progress, start }: Replay): boolean =>
    progress.readTo >= start.until && progress.base >= start.until
  const replayChange = (replay: Replay, cursorAt: (sequence: number) => string): Change<DeliveryRow> => {
    const { id, until, only, createdAtMs } = replay.start
    const key = replayKey(endpointId, id)
    if (isOver(replay)) return { key, value: null }
    const { progress } = replay
    const value: ReplayRow = {
      kind: 'replay',
      cursor: cursorAt(progress.base),
      ahead: progress.ahead(),
      until,
      only,
      createdAtMs,
    }
    return { key, value }
  }

  return {
    live,
    /** The replay that is read now; null: none. */
    get replay(): { id: string; progress: Progress; until: number; only: readonly number[] | null } | null {
      const [first] = replays
      if (first === undefined || isOver(first)) return null
      const { start, progress, only } = first
      return { id: start.id, until: start.until, progress, only }
    },
    /** Those that are not over, in their order. */
    replayIds: (): readonly string[] => replays.map(({ start }) => start.id),
    /** Begins a replay behind those that are there. Its row is owed. */
    addReplay(start: ReplayStart): void {
      replays.push(opened(start))
    },
    /** What is read of the replay and not sent. */
    replayed: (): readonly D[] => unsent,
    /** An event of the replay, in rising order. False where it was decided before. */
    replaySeen(delivery: D): boolean {
      const isNew = replays[0]?.progress.seen(delivery.sequence) ?? false
      if (isNew) unsent.push(delivery)
      return isNew
    },
    /** An event of the replay that waits for a retry anyway. */
    replayKept(sequence: number): void {
      const progress = replays[0]?.progress
      if (progress?.seen(sequence)) progress.kept(sequence)
    },
    replayTaken(sequence: number): void {
      unsent = unsent.filter((delivery) => delivery.sequence !== sequence)
    },
    /** A retry row has it, durably. */
    kept(sequence: number): void {
      for (const { progress } of [live, ...replays]) progress.kept(sequence)
    },
    /** It is delivered or dead: the rows of the cursors that are behind it have to say so. */
    done(sequence: number): void {
      for (const one of [live, ...replays]) {
        // A row that was left may end before the cursor has come by; what a replay has not come by it sends all the same.
        const isUnread = one !== live && sequence > one.progress.readTo
        if (sequence <= one.writtenBase || isUnread) continue
        one.progress.done(sequence)
        one.mustWrite = true
      }
    },
    /** True where a row has to be written. */
    owes: (): boolean => live.mustWrite || replays.some((replay) => replay.mustWrite || isOver(replay)),
    /** The rows; `flush`: of every cursor that moved. */
    take(options: {
      cursorAt: (sequence: number) => string
      failingSinceMs: number | null
      flush: boolean
    }): Positions {
      const { cursorAt, failingSinceMs, flush } = options
      const moved = (one: Cursor): boolean =>
        one.mustWrite || (flush && one.progress.base !== one.writtenBase)
      const written: { of: Cursor; base: number }[] = []
      const changes: Change<DeliveryRow>[] = []
      const note = (of: Cursor, change: Change<DeliveryRow>): void => {
        of.mustWrite = false
        written.push({ of, base: of.progress.base })
        changes.push(change)
      }
      if (moved(live)) {
        const { progress } = live
        const value = { cursor: cursorAt(progress.base), ahead: progress.ahead(), failingSinceMs }
        note(live, { key: positionKey(endpointId), value: { kind: 'position', ...value } })
      }
      const over = replays.filter(isOver)
      for (const replay of replays) {
        if (moved(replay) || isOver(replay)) note(replay, replayChange(replay, cursorAt))
      }
      replays = replays.filter((replay) => !over.includes(replay))
      return {
        changes,
        settled() {
          for (const { of, base } of written) of.writtenBase = base
        },
      }
    },
  }
}
