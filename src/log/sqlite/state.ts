/**
 * The writer's state as keyed rows. Owns their keys, and the fence: a number that each claim raises and every write
 * compares. Refuses to know events: the archive's tables, in the same file, hold them.
 */
import type { Database } from '../../archive/db.ts'
import { BridgeError } from '../../errors.ts'
import type { Head, Ledger, OpenGap, Purpose, RejectedItem, WriterState } from '../log.ts'
import { unusedState } from '../state.ts'

const TABLES = `
  CREATE TABLE IF NOT EXISTS fence(term INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS writer(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS rejected(
    id INTEGER PRIMARY KEY, raw TEXT NOT NULL, reason TEXT NOT NULL, guid TEXT, recordedtime TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS tables(
    name TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, key)
  ) WITHOUT ROWID;
  INSERT INTO fence(term) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM fence);
`

/** Makes the tables of the log beside those of the archive where they are missing. */
export function ensureLogTables(db: Database): void {
  db.transaction(() => db.exec(TABLES))
}

/** Raises the fence and returns it. Inside a transaction. */
export function raiseFence(db: Database): number {
  db.prepare('UPDATE fence SET term = term + 1').run()
  return currentFence(db)
}

/** The fence of the latest claim. */
export function currentFence(db: Database): number {
  return db.prepare<{ term: number }>('SELECT term FROM fence').get()?.term ?? 0
}

/** Everything but the gaps, which have rows of their own. */
type Field = Exclude<keyof Head, 'openGaps'>

/** Fields of the head in the order of their rows. */
function fieldsOf(head: Readonly<Head>): Field[] {
  return (Object.keys(head) as (keyof Head)[]).filter((field) => field !== 'openGaps')
}

/**
 * The stored state, or null where there is none. A field that an older version did not know has its first value.
 * @throws BridgeError `log_damaged` when the state has rows but not its epoch and sequence
 */
export function readState(db: Database): WriterState | null {
  const rows = db.prepare<{ key: string; value: string }>('SELECT key, value FROM writer ORDER BY key').all()
  if (rows.length === 0) return null
  const values = new Map(rows.map((row) => [row.key, JSON.parse(row.value) as unknown]))
  if (!values.has('head/epoch') || !values.has('head/sequence')) {
    throw new BridgeError('log_damaged', 'the stored state has lost its epoch or sequence', {
      hint: 'Stop, keep a copy of the data directory, and restore the last good backup.',
    })
  }
  const unused = unusedState('').head
  const head: Record<string, unknown> = {}
  for (const field of fieldsOf(unused)) head[field] = values.get(`head/${field}`) ?? unused[field]
  const gaps = [...values]
    .filter(([key]) => key.startsWith('gap/'))
    .map(([, value]) => value as { place: number; gap: OpenGap })
    .sort((one, other) => one.place - other.place)
  return {
    head: { ...unused, ...head, openGaps: gaps.map(({ gap }) => gap) },
    ledger: ledgerOf(values),
  }
}

/** Writes what differs between two states; null before the first. Inside a transaction. */
export function writeState(db: Database, before: WriterState | null, after: WriterState): void {
  const old = before === null ? new Map<string, string>() : rowsOf(before)
  const put = db.prepare('INSERT OR REPLACE INTO writer(key, value) VALUES (?, ?)')
  const drop = db.prepare('DELETE FROM writer WHERE key = ?')
  const next = rowsOf(after)
  for (const [key, value] of next) if (old.get(key) !== value) put.run(key, value)
  for (const key of old.keys()) if (!next.has(key)) drop.run(key)
}

/** Adds rejected records. Inside a transaction. */
export function writeRejected(db: Database, items: readonly RejectedItem[]): void {
  const insert = db.prepare('INSERT INTO rejected(raw, reason, guid, recordedtime) VALUES (?, ?, ?, ?)')
  for (const item of items) insert.run(item.raw, item.reason, item.guid, item.recordedtime)
}

/** The newest rejected records, newest last. */
export function readRejected(db: Database, limit: number): RejectedItem[] {
  return db
    .prepare<RejectedItem>(
      'SELECT raw, reason, guid, recordedtime FROM rejected ORDER BY id DESC LIMIT max(0, ?)',
    )
    .all(limit)
    .map((row) => ({ ...row }))
    .reverse()
}

function rowsOf({ head, ledger }: WriterState): Map<string, string> {
  const rows = new Map<string, string>()
  for (const field of fieldsOf(head)) rows.set(`head/${field}`, JSON.stringify(head[field]))
  head.openGaps.forEach((gap, place) => {
    rows.set(`gap/${gap.id}`, JSON.stringify({ place, gap }))
  })
  for (const [hourMs, units] of ledger) rows.set(`ledger/${hourMs}`, JSON.stringify(units))
  return rows
}

function ledgerOf(values: ReadonlyMap<string, unknown>): Ledger {
  const ledger = new Map<number, Partial<Record<Purpose, number>>>()
  for (const [key, units] of values) {
    if (key.startsWith('ledger/')) ledger.set(Number(key.slice('ledger/'.length)), units as object)
  }
  return ledger
}
