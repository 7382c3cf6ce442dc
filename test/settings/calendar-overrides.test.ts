import { describe, expect, test } from 'vitest'
import { isBridgeError } from '../../src/errors.ts'
import { parseCalendarOverrides } from '../../src/settings/calendar-file.ts'

function refusal(text: string): { message: string; fields: Record<string, string> } {
  try {
    parseCalendarOverrides(text)
  } catch (error) {
    if (!isBridgeError(error, 'settings')) throw error
    expect(error.hint).toContain('{"holidays":["YYYY-MM-DD"]')
    return {
      message: error.message,
      fields: Object.fromEntries(error.errors.map(({ field, message }) => [field, message])),
    }
  }
  throw new Error('was accepted')
}

test('each list is optional', () => {
  expect(parseCalendarOverrides('{}')).toEqual({ holidays: [], businessDays: [], halfDays: [] })
  expect(parseCalendarOverrides('{"halfDays":["2026-12-23"],"holidays":["2027-06-01"]}')).toEqual({
    holidays: ['2027-06-01'],
    businessDays: [],
    halfDays: ['2026-12-23'],
  })
})

describe('a calendar file', () => {
  test.each([
    ['{"holiday":["2026-01-01"]}', 'holiday', 'did you mean "holidays"?'],
    ['{"halfdays":[]}', 'halfdays', 'did you mean "halfDays"?'],
    ['{"__proto__":[]}', '__proto__', 'is not a list of this file'],
    ['{"holidays":"2026-01-01"}', 'holidays', 'must be a list'],
    ['{"holidays":["2026-01-01",20260102]}', 'holidays[1]', 'YYYY-MM-DD'],
    ['{"businessDays":["2026-02-30"]}', 'businessDays[0]', 'YYYY-MM-DD'],
    ['{"businessDays":["2026-2-3"]}', 'businessDays[0]', 'YYYY-MM-DD'],
    ['{"holidays":["2026-01-05"],"halfDays":["2026-01-05"]}', 'halfDays[0]', 'in holidays too'],
  ])('%s is refused, naming the wrong entry', (text, field, message) => {
    expect(refusal(text).fields[field]).toContain(message)
  })

  test.each(['', 'holidays: []', '[]', 'null', '"x"', '['.repeat(10_000)])(
    'without a JSON object is refused',
    (text) => {
      expect(refusal(text).message).toMatch(/not JSON|not a JSON object/)
    },
  )
})
