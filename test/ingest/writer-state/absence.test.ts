import { describe, expect, test } from 'vitest'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { HOUR_MS } from '../../../src/core/durations.ts'
import { plans } from '../../../src/core/plans.ts'
import { countAbsence } from '../../../src/ingest/writer-state/absence.ts'
import { claimed, START_MS } from '../../log/samples.ts'
import { createMemoryLog } from '../../support/memory-log.ts'

const by = { plan: { ...plans.advanced, quotaReset: 'rolling' as const }, calendar: createCalendar() }

/** The rows of a log whose last request was sent at START_MS. */
async function storedRows() {
  const log = createMemoryLog()
  const writer = await claimed(log)
  await writer.spend(1, 'poll', START_MS)
  const { signal } = new AbortController()
  const { epoch, sequence, rows } = await log.claim(await log.campaign(signal), signal)
  return { log, stored: { epoch, sequence, rows } }
}

describe('the time since a backup', () => {
  test('is counted in the ledger from the last request on, or from when the backup was taken', async () => {
    const { log, stored } = await storedRows()
    const nowMs = START_MS + 3 * HOUR_MS
    const whole = countAbsence(stored, by, { sinceMs: null, nowMs })
    expect(whole.sinceMs).toBe(START_MS)
    expect(whole.units).toBeGreaterThan(20)
    const takenMs = START_MS + 2 * HOUR_MS
    const later = countAbsence(stored, by, { sinceMs: takenMs, nowMs })
    expect(later.sinceMs).toBe(takenMs)
    expect(later.units).toBeLessThan(whole.units)
    const { signal } = new AbortController()
    await (await log.claim(await log.campaign(signal), signal)).commit({ events: [], rows: whole.rows })
    const { ledger, head } = (await claimed(log)).state
    expect(
      [...ledger.values()].reduce((sum, { poll = 0, fill = 0, sweep = 0 }) => sum + poll + fill + sweep, 0),
    ).toBe(whole.units + 1)
    expect(head.lastSpendMs).toBe(START_MS)
  })

  test('is not counted for a log that never sent a request, nor backwards', async () => {
    const { signal } = new AbortController()
    const unused = createMemoryLog()
    const writer = await unused.claim(await unused.campaign(signal), signal)
    const none = countAbsence(writer, by, { sinceMs: null, nowMs: START_MS })
    expect(none).toEqual({ rows: new Map(), units: 0, sinceMs: null })
    const { stored } = await storedRows()
    expect(countAbsence(stored, by, { sinceMs: null, nowMs: START_MS - HOUR_MS }).units).toBe(0)
  })
})
