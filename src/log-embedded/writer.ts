/**
 * Writes commits to the embedded log, one SQLite transaction each, until the first error. Every later operation throws the
 * same error.
 */
import type { Archive } from '../archive/store/archive.ts'
import { BridgeError, isBridgeError, messageOf } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { Wakeup } from '../lifecycle/wakeup.ts'
import type { Writer } from '../log/events.ts'
import type { FaultHooks } from '../log/fault-hooks.ts'
import { newEpoch } from '../log-shared/epoch.ts'
import { fencedError } from '../log-shared/fenced.ts'
import {
  type CommittedHead,
  checkCommitSize,
  placedRows,
  placeRows,
  sequenceEvents,
} from '../log-shared/place-rows.ts'
import { currentFence, raiseFence, readRows, writeRejected, writeRows } from './writer-tables.ts'

/** What a claim needs; `wakeup` is raised after each commit with events. */
export interface WriterClaim {
  archive: Archive
  clock: Clock
  wakeup: Wakeup
  faultHooks: FaultHooks | undefined
  closed: AbortSignal
}

/** Fences every earlier writer; the writer that continues from what they have stored. */
export function claimWriter({ archive, clock, wakeup, faultHooks, closed }: WriterClaim): Writer {
  const { db } = archive
  const claimed = archive.transaction(() => ({ fence: raiseFence(db), ...readPlace(archive) }))
  let { place } = claimed
  let ended: BridgeError | null = null
  return {
    get epoch() {
      return place.epoch
    },
    get sequence() {
      return place.sequence
    },
    rows: claimed.rows,
    async commit({ events: given, rejected = [], rows = new Map() }) {
      checkCommitSize(given)
      const { events, after } = sequenceEvents(given, place)
      if (ended !== null) throw ended
      try {
        if (closed.aborted) throw fencedError()
        archive.transaction(() => {
          if (currentFence(db) !== claimed.fence) throw fencedError()
          const committedMs = clock.now()
          archive.write(events.map((event) => ({ ...event, committedMs })))
          writeRejected(db, rejected)
          writeRows(db, placeRows(place, after))
          writeRows(db, rows)
          faultHooks?.beforeCommit?.()
        })
        if (events.length > 0) wakeup.wake()
        faultHooks?.afterCommit?.()
      } catch (error) {
        ended = endingOf(error)
        throw ended
      }
      place = after
      return events
    },
    async release() {
      ended ??= fencedError()
    },
  }
}

/** `log_fenced` and `log_damaged` as they are; any other error leaves the outcome unknown. */
function endingOf(error: unknown): BridgeError {
  if (isBridgeError(error, 'log_fenced') || isBridgeError(error, 'log_damaged')) return error
  const hint = error instanceof BridgeError ? error.hint : undefined
  return new BridgeError(
    'log_unknown',
    `it is not known whether the last commit was stored: ${messageOf(error)}`,
    {
      hint: hint ?? 'The writer reads what is stored before it writes again.',
      cause: error,
    },
  )
}

/** The stored epoch, sequence and rows, checked against the events; an unused log gets its epoch. */
function readPlace(archive: Archive): StoredPlace {
  const stored = readStoredPlace(archive)
  if (stored !== null) return stored
  const place = { epoch: newEpoch(), sequence: 0 }
  archive.setEpoch(place.epoch)
  writeRows(archive.db, placeRows(null, place))
  return { place, rows: new Map() }
}

/** The place of the last commit, and the rows of the writer's caller. */
export interface StoredPlace {
  place: CommittedHead
  rows: Map<string, string>
}

/**
 * The writer's stored place and rows, checked against the events; null where the log was never used.
 * @throws BridgeError `log_damaged` when they contradict each other
 */
export function readStoredPlace({
  db,
  epoch,
  latest,
}: Pick<Archive, 'db' | 'epoch' | 'latest'>): StoredPlace | null {
  const stored = placedRows(readRows(db))
  if (stored === null && epoch === null && latest === 0) return null
  if (stored?.place.sequence === latest && stored.place.epoch === epoch) return stored
  const known = stored === null ? 'nothing' : `event ${stored.place.sequence} of epoch ${stored.place.epoch}`
  throw new BridgeError(
    'log_damaged',
    `the stored writer state names ${known} as the last event, but the stored events end with ${latest} of epoch ${epoch}`,
    {
      hint: 'Stop the process, and put the last good backup back with bridge restore: it sets the present files aside.',
    },
  )
}
