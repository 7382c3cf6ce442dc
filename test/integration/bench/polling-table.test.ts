import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pollingTable } from '../../../bench/polling.ts'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { DAY_MS } from '../../../src/core/durations.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'

const calendar = createCalendar()
/** A Wednesday. */
const START_MS = calendar.momentMs('2026-05-20', 0)
const HOUR_S = 3600

/** A burst at seven and items through the day, on the business days of so many days. */
function csv(days: number): string {
  const lines = Array.from({ length: days }, (_, day) => calendar.londonDate(START_MS + (day + 0.5) * DAY_MS))
    .filter((date) => calendar.isBusinessDay(date))
    .flatMap((date, place) => [
      `${date},07:00:0${place % 7},60`,
      ...Array.from({ length: 40 }, (_, n) => `${date},${8 + Math.floor(n / 4)}:${10 + 13 * (n % 4)},3`),
    ])
  return ['date,london_time,count', ...lines].join('\n').replaceAll(/,(\d):/g, ',0$1:')
}

function rowsOf(lines: readonly string[]): Map<string, number>[] {
  const [, head = '', ...rest] = lines
  const names = head.split(/ {2,}/)
  return rest
    .slice(0, 4)
    .map(
      (line) =>
        new Map(line.split(/ {2,}/).map((cell, place) => [names[place] ?? '', Number.parseFloat(cell)])),
    )
}

test.each([7, 9])(
  'over %i days from a Wednesday on, with a bank holiday, nothing beats the best timetable',
  async (days) => {
    using directory = temporaryDirectory()
    const file = join(directory.path, 'trace.csv')
    writeFileSync(file, csv(days))
    const rows = rowsOf(await pollingTable(file))
    expect(rows).toHaveLength(4)
    for (const row of rows) {
      const of = (name: string): number => row.get(name) ?? Number.NaN
      for (const other of ['expected s', '√ s', 'even s'])
        expect(of(other)).toBeGreaterThanOrEqual(of('best s'))
      expect(of('mean s')).toBeGreaterThanOrEqual(of('foresight s'))
      expect(of('ratio')).toBeGreaterThanOrEqual(1)
      // From a day with three hundred items at known moments.
      expect(of('best s')).toBeLessThan(HOUR_S)
    }
  },
)
