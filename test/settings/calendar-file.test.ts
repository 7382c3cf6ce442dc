import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadCalendar } from '../../src/settings/calendar-file.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'

const TUESDAY_NOON = Date.parse('2026-02-03T12:00:00Z')

test('without a file only the rules decide; a file corrects them', () => {
  using directory = temporaryDirectory()
  const file = join(directory.path, 'calendar.json')
  writeFileSync(file, '{"holidays":["2026-02-03"]}')
  expect(loadCalendar(null).phase(TUESDAY_NOON)).toBe('open')
  expect(loadCalendar(file).phase(TUESDAY_NOON)).toBe('closed')
})

test('a missing file is a wrong setting, named with the remedy', () => {
  using directory = temporaryDirectory()
  expect(() => loadCalendar(join(directory.path, 'none.json'))).toThrow(
    expect.objectContaining({
      code: 'settings',
      message: expect.stringContaining('none.json'),
      hint: expect.stringContaining('BRIDGE_CALENDAR_FILE'),
    }),
  )
})
