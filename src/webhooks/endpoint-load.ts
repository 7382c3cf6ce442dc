/**
 * From the rows that an endpoint's last owner left to where its machine goes on. Owns what a change of the log's epoch, or a
 * log that has dropped what was not read yet, means for deliveries. Refuses to write: it says which rows are of no use.
 */
import type { Reader } from '../archive/reader.ts'
import { resumeAt } from '../archive/resume.ts'
import { decodeCursor } from '../core/cursor.ts'
import { type DeliveryRow, endpointOf, type KeyedRow, readDeliveryRow } from './delivery-rows.ts'
import type { Loaded } from './endpoint-state.ts'

/** What to go on with. */
export interface LoadedEndpoint extends Loaded {
  /** Keys of rows that mean nothing in this log any more. */
  useless: readonly string[]
  /** Ids of replays that ended with the log's epoch: what they were about is not in this one. */
  endedReplays: readonly string[]
  /** What else an operator should know; null where all is as it was left. */
  notice: 'epoch_changed' | 'fell_behind' | null
}

/**
 * Reads an endpoint's rows. `start`: the cursor from which it begins where there is no position yet.
 *
 * After a change of epoch the sequences of before mean nothing: it goes on an hour before the time of its position, or of
 * the oldest delivery that waited, so that nothing is lost; what comes twice has the same `webhook-id`.
 * @throws BridgeError `log_damaged` where a row cannot be read; `cursor_invalid` where `start` cannot
 */
export function loadEndpoint(
  start: string,
  rows: ReadonlyMap<string, DeliveryRow>,
  reader: Reader,
  nowMs: number,
): LoadedEndpoint {
  const read = [...rows].map(([key, value]) => ({ key, ...readDeliveryRow(key, value) }))
  const isOfThisLog = ({ cursor }: KeyedRow): boolean => cursor.epoch === reader.epoch
  const position = read.map(({ row }) => row).find((row) => row.kind === 'position')
  const others = read.filter(({ row }) => row.kind !== 'position')
  const useless = others.filter((one) => !isOfThisLog(one) || isForgotten(one, reader))
  const waited = useless.flatMap(({ row }) => (row.kind === 'retry' ? [row.cursor] : []))
  const cursor = position?.cursor ?? start
  const resumes = [cursor, ...waited].map((text) => resumeAt(reader, text, nowMs))
  const bases = resumes.map((resume) => (resume.kind === 'from' ? resume.after : reader.oldest - 1))
  const base = Math.min(...bases)
  const isSame = position !== undefined && base === decodeCursor(cursor).sequence && isHere(cursor, reader)
  const kept = others.filter((one) => !useless.includes(one))
  const sequences = (kind: DeliveryRow['kind']): number[] =>
    kept
      .flatMap(({ row, place }) => (row.kind === kind ? [Number(place)] : []))
      .sort((one, other) => one - other)
  return {
    base,
    isWritten: isSame,
    ahead: isSame ? position.ahead : [],
    failingSinceMs: position?.failingSinceMs ?? null,
    retries: new Map(
      kept.flatMap(({ row, place }) => (row.kind === 'retry' ? [[Number(place), row] as const] : [])),
    ),
    dead: sequences('dead'),
    replays: kept
      .flatMap(({ row, place, cursor }) =>
        row.kind === 'replay' ? [{ id: place, row, base: cursor.sequence }] : [],
      )
      .sort((one, other) => one.row.createdAtMs - other.row.createdAtMs)
      .map(({ id, row, base }) => {
        const { ahead, until, only, createdAtMs } = row
        return {
          id,
          base,
          ahead,
          until,
          only,
          createdAtMs,
          isWritten: true,
        }
      }),
    useless: useless.map(({ key }) => key),
    endedReplays: useless.flatMap(({ row, place }) => (row.kind === 'replay' ? [place] : [])),
    notice: noticeOf(position !== undefined && !isHere(cursor, reader), resumes[0]?.kind === 'too_old'),
  }
}

function isHere(cursor: string, reader: Reader): boolean {
  return decodeCursor(cursor).epoch === reader.epoch
}

/** The death of an event that the log no longer keeps: nobody can replay it. */
function isForgotten({ row, place }: KeyedRow, reader: Reader): boolean {
  return row.kind === 'dead' && Number(place) < reader.oldest
}

function noticeOf(isElsewhere: boolean, isTooOld: boolean): LoadedEndpoint['notice'] {
  if (isElsewhere) return 'epoch_changed'
  return isTooOld ? 'fell_behind' : null
}

/** The rows of a lane by the endpoint that they are of, as far as their keys say. */
export function rowsByEndpoint(all: ReadonlyMap<string, DeliveryRow>): Map<string, Map<string, DeliveryRow>> {
  const groups = new Map<string, Map<string, DeliveryRow>>()
  for (const [key, row] of all) {
    const id = endpointOf(key)
    const own = groups.get(id) ?? new Map<string, DeliveryRow>()
    groups.set(id, own.set(key, row))
  }
  return groups
}
