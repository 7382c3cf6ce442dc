/** Tests retention in journals of logs without another process, over a clock that the test moves. */
import { afterEach, describe, expect, it } from 'vitest'
import { HOUR_MS } from '../../src/core/durations.ts'
import type { Log } from '../../src/log/log.ts'
import { createManualClock, type ManualClock } from '../support/time/manual-clock.ts'
import { journalled } from './journals.ts'

/** Runs the cases over unused logs that `open` creates on that clock. */
export function describeRetention(name: string, open: (clock: ManualClock) => Log): void {
  describe(`retention of a journal on the ${name} log`, () => {
    let log: Log
    afterEach(() => log.close())

    it('returns no record older than its retention, and uses no number twice', async () => {
      const clock = createManualClock()
      log = open(clock)
      const journal = log.journal<number>('tries', 24 * HOUR_MS)
      const append = async (...records: number[]): Promise<void> => {
        const appended = journal.append(records)
        clock.advance(20)
        await appended
      }
      await append(1, 2, 3)
      const { batches } = await journalled(journal, null, 3)
      clock.advance(12 * HOUR_MS)
      await append(4)
      expect((await journalled(journal, null, 4)).records).toEqual([1, 2, 3, 4])
      clock.advance(13 * HOUR_MS)
      expect((await journalled(journal, null, 1)).records).toEqual([4])
      clock.advance(12 * HOUR_MS)
      await append(5)
      expect((await journalled(journal, null, 1)).records).toEqual([5])
      expect((await journalled(journal, batches.at(-1)?.position ?? null, 1)).records).toEqual([5])
      clock.advance(25 * HOUR_MS)
      const [later] = [journalled(journal, null, 1)]
      await append(6)
      expect((await later).records).toEqual([6])
    })
  })
}
