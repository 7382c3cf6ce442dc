/** Tests the contract of src/log/log.ts for journals, over any adapter. Retention is in the adapters' own tests. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DAY_MS } from '../../src/core/durations.ts'
import type { Journal, JournalBatch } from '../../src/log/journal.ts'
import type { Log } from '../../src/log/log.ts'
import { LARGEST_ROW_BYTES } from '../../src/log/shards.ts'
import type { OpenLog } from './takeovers.ts'

/** The next `count` records after a position, with the position after each batch: waits until they exist. */
export async function journalled<V>(
  journal: Journal<V>,
  after: string | null,
  count: number,
): Promise<{ records: V[]; batches: JournalBatch<V>[] }> {
  const ended = new AbortController()
  const batches: JournalBatch<V>[] = []
  for await (const batch of journal.read(after, ended.signal)) {
    batches.push(batch)
    if (batches.flatMap(({ records }) => records).length >= count) ended.abort()
  }
  return { records: batches.flatMap(({ records }) => records), batches }
}

/** Runs the suite over logs that `open` makes. */
export function describeJournals(name: string, open: OpenLog): void {
  describe(`a journal on the ${name} log`, () => {
    let log: Log
    let journal: Journal<unknown>
    beforeEach(async () => {
      log = await open({})
      journal = log.journal('tries', DAY_MS)
    })
    afterEach(() => log.close())

    it('returns every record once, in the order of appending', async () => {
      await journal.append([1, 'two', { three: [3, null] }, null])
      await journal.append([])
      await Promise.all([journal.append(['a', 'b']), journal.append(['c'])])
      const { records } = await journalled(journal, null, 7)
      expect(records).toEqual([1, 'two', { three: [3, null] }, null, 'a', 'b', 'c'])
      await log.journal('other', DAY_MS).append(['of another'])
      expect((await journalled(log.journal('other', DAY_MS), null, 1)).records).toEqual(['of another'])
    })

    it('continues after any position it returned, and with records appended during the read', async () => {
      const appending = (async () => {
        for (let n = 0; n < 40; n++) await journal.append([2 * n, 2 * n + 1])
      })()
      const { records, batches } = await journalled(journal, null, 80)
      await appending
      const all = Array.from({ length: 80 }, (_, n) => n)
      expect(records).toEqual(all)
      await journal.append([80])
      for (const { records, position } of batches.slice(-5)) {
        const last = Number(records.at(-1))
        expect((await journalled(journal, position, 80 - last)).records).toEqual([...all.slice(last + 1), 80])
      }
    })

    it('returns batches of limited work, however many records there are', async () => {
      const records = Array.from({ length: 40 }, (_, n) => `${n} ${'x'.repeat(50_000)}`)
      await journal.append(records)
      const found = await journalled(journal, null, records.length)
      expect(found.records).toEqual(records)
      for (const batch of found.batches) expect(batch.records.length).toBeLessThanOrEqual(6)
    })

    it('reads from its oldest record if the position is beyond its end', async () => {
      await journal.append([1, 2, 3])
      expect((await journalled(journal, '1000', 3)).records).toEqual([1, 2, 3])
    })

    it('holds large records, and refuses one that is too large with nothing appended', async () => {
      const large = 'x'.repeat(LARGEST_ROW_BYTES - 2)
      await journal.append([large, large, large])
      await expect(journal.append(['small', `${large}x`])).rejects.toThrow(RangeError)
      await journal.append(['last'])
      const { records } = await journalled(journal, null, 4)
      expect(records.map((record) => String(record).length)).toEqual([
        large.length,
        large.length,
        large.length,
        4,
      ])
    })

    it('ends reads with the signal, and with the log; later use throws', async () => {
      for await (const batch of journal.read(null, AbortSignal.abort())) expect(batch).toBe('nothing')
      const reading = journalled(journal, null, 1)
      await log.close()
      expect((await reading).records).toEqual([])
      await expect(journal.append([1])).rejects.toThrow('closed')
    })

    it('refuses a position that it never returned', async () => {
      await expect(journalled(journal, 'next', 1)).rejects.toMatchObject({ code: 'log_damaged' })
    })
  })
}
