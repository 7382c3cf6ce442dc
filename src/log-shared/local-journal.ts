/** Appends and reads journals of single-process logs (embedded, memory); the adapter stores and expires the records. */

import { BridgeError } from '../errors.ts'
import { yieldToEventLoop } from '../lifecycle/clock.ts'
import { createWakeup } from '../lifecycle/wakeup.ts'
import type { Journal } from '../log/journal.ts'
import { storedValue } from '../log/stored-value.ts'
import { recordTexts } from './stored-rows.ts'

/** Largest batch for a reader: it takes some milliseconds to parse. */
export const JOURNAL_BATCH: JournalBound = { records: 500, characters: 256 * 1024 }

/** A record as JSON text, with its number in the journal: from 1 on, never reused. */
export interface JournalRow {
  id: number
  text: string
}

/** Limits of one batch. */
export interface JournalBound {
  records: number
  /** Once reached, no further record is read. */
  characters: number
}

/** Storage of the records of one journal. */
export interface JournalStore {
  /** Rejects with BridgeError `log_unavailable`, `log_damaged`. */
  append(texts: readonly string[]): Promise<void>
  /** The number of the last record ever appended; 0 before the first. */
  last(): number
  /** Records after that one, in order, within the bound. */
  read(after: number, bound: JournalBound): JournalRow[]
}

/** The journal in that store. `open` throws once the log is closed; `closed` aborts then. */
export function createLocalJournal<V>(
  store: JournalStore,
  { open, closed }: { open(): void; closed: AbortSignal },
): Journal<V> {
  const wakeup = createWakeup()
  return {
    async append(records) {
      open()
      const texts = recordTexts(records)
      if (texts.length === 0) return
      await store.append(texts)
      wakeup.wake()
    },
    async *read(after, signal) {
      open()
      const ended = AbortSignal.any([signal, closed])
      const asked = positionOf(after)
      let id = asked > store.last() ? 0 : asked
      while (!ended.aborted) {
        const rows = store.read(id, JOURNAL_BATCH)
        const last = rows.at(-1)
        if (last === undefined) {
          await wakeup.wait(ended)
          continue
        }
        id = last.id
        yield { records: rows.map(({ text }) => storedValue<V>('a journal', text)), position: String(id) }
        await yieldToEventLoop()
      }
    },
  }
}

/**
 * The number of a position; 0 for the beginning.
 * @throws BridgeError `log_damaged` when it is not a number
 */
export function positionOf(position: string | null): number {
  if (position === null) return 0
  const number = Number(position)
  if (/^\d+$/.test(position) && Number.isSafeInteger(number)) return number
  throw new BridgeError(
    'log_damaged',
    `${JSON.stringify(position.slice(0, 40))} is no position of a journal`,
    {
      hint: 'Forget the position, and what was built from the journal, and read it from the start.',
    },
  )
}
