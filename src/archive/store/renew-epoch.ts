/**
 * Begins a new epoch in a store and keeps its events: rewrites the epoch and the cursor in the JSON of every event. Only for a
 * store that nobody reads meanwhile, because it works in many transactions.
 */
import { encodeCursor } from '../../core/cursor.ts'
import type { EarlierEpochs } from '../../log/events.ts'
import type { Database } from '../../storage/database.ts'
import { writeEarlierEpochs } from './earlier-epochs.ts'

/** Events of one transaction. */
const BATCH_EVENTS = 5000

/** Writes the epoch and the earlier ones, then every event. `report` is called with each sequence that a batch has reached. */
export function renewEpoch(
  db: Database,
  { epoch, earlier }: { epoch: string; earlier: EarlierEpochs },
  report: (sequence: number) => void = () => {},
): void {
  db.transaction(() => {
    db.prepare("UPDATE meta SET value = ? WHERE name = 'epoch'").run(epoch)
    writeEarlierEpochs(db, earlier)
  })
  for (let sequence: number | null = 0; sequence !== null; ) {
    const after: number = sequence
    sequence = db.transaction(() => renewBatch(db, epoch, after))
    if (sequence !== null) report(sequence)
  }
}

/** Rewrites the next events after `after`; the last of their sequences, or null where there are none. */
function renewBatch(db: Database, epoch: string, after: number): number | null {
  const rows = db
    .prepare<{ sequence: number; attributes: string; time_ms: number }>(
      `SELECT e.sequence, e.attributes, f.time_ms FROM events e CROSS JOIN facts f USING (sequence)
       WHERE e.sequence > ? ORDER BY e.sequence LIMIT ${BATCH_EVENTS}`,
    )
    .all(after)
  const update = db.prepare('UPDATE events SET attributes = ? WHERE sequence = ?')
  for (const { sequence, attributes, time_ms: timeMs } of rows) {
    const stored = JSON.parse(`${attributes}}`) as Record<string, unknown>
    const cursor = encodeCursor({ epoch, sequence, timeMs })
    update.run(JSON.stringify({ ...stored, epoch, cursor }).slice(0, -1), sequence)
  }
  return rows.at(-1)?.sequence ?? null
}
