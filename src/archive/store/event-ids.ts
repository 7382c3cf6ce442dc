/**
 * Finds the sequences of disclosures by event id: a guid, or a guid with its revision (contract §3). Gap events are not
 * indexed and never found.
 */
import type { Database } from '../../storage/database.ts'

/** Sequence by event id, for the given ids that the archive holds up to the sequence `latest`. */
export function sequencesOf(
  db: Database,
  ids: readonly string[],
  latest: number,
): ReadonlyMap<string, number> {
  const find = db.prepare<{ sequence: number }>(
    'SELECT sequence FROM facts WHERE guid = ? AND revision = ? AND sequence <= ?',
  )
  const found = new Map<string, number>()
  for (const id of ids) {
    const revised = /^(.+)#([1-9]\d{0,8})$/.exec(id)
    const row =
      find.get(id, 1, latest) ??
      (revised === null ? undefined : find.get(revised[1] ?? '', Number(revised[2]), latest))
    if (row !== undefined) found.set(id, row.sequence)
  }
  return found
}
