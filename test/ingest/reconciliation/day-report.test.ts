import { describe, expect, it } from 'vitest'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { emptyDay } from '../../../src/core/calendar/day-record.ts'
import { DAY_MS, HOUR_MS } from '../../../src/core/durations.ts'
import { plans } from '../../../src/core/plans.ts'
import type { Ledger } from '../../../src/governor/quota/time-buckets.ts'
import { reconciliationBudget } from '../../../src/governor/schedule/daily-reconciliation.ts'
import { sightingsOf } from '../../../src/ingest/machine/present.ts'
import { initialState } from '../../../src/ingest/machine/state.ts'
import { reportsOf } from '../../../src/ingest/reconciliation/day-report.ts'
import type { Head, OpenGap } from '../../../src/ingest/writer-state/head.ts'
import { sampleGap } from '../../log/samples.ts'

/** A Friday in winter, noon. */
const FRIDAY = Date.parse('2026-01-09T12:00:00Z')
const config = { calendar: createCalendar(), dayWalks: reconciliationBudget(plans.advanced) }

function reports(
  changes: Partial<Head>,
  at: { nowMs?: number; skewMs?: number; ledger?: Ledger; dayWalks?: null } = {},
) {
  const { nowMs = FRIDAY, skewMs = 0, ledger = new Map() } = at
  const head = { ...initialState().head, countedFromMs: FRIDAY - 2 * DAY_MS, ...changes }
  const dayWalks = at.dayWalks === null ? null : config.dayWalks
  const clocks = { hasDate: true, skewMs, sightings: sightingsOf('date'), unfitPolls: 0, newest: null }
  return reportsOf({ head, ledger, ...clocks, lastGoodPollMs: nowMs }, { ...config, dayWalks }, nowMs)
}

const walked = { attempts: 0, pageCursor: null, atMs: FRIDAY - 17 * HOUR_MS }

describe('the day reports', () => {
  it('have a row for every day since counting began, also for empty days', () => {
    const rows = reports({ days: [{ ...emptyDay('2026-01-08'), polled: 7, filled: 2, eodSeen: true }] })
    expect(rows.map(({ date, polled, since }) => [date, polled, since])).toEqual([
      ['2026-01-07', 0, '2026-01-07T12:00:00.000Z'],
      ['2026-01-08', 7, null],
      ['2026-01-09', 0, null],
    ])
    expect(rows[1]).toMatchObject({ filled: 2, eodSeen: true, gapsLeft: 0, units: {} })
  })

  it('are empty before the first poll, and cover at most two weeks', () => {
    expect(reports({ countedFromMs: null })).toEqual([])
    expect(reports({ countedFromMs: FRIDAY - 400 * DAY_MS })).toHaveLength(15)
  })

  it('end with the day of the last good poll of another process, before the first answer to this one', () => {
    const head = { ...initialState().head, countedFromMs: FRIDAY - 2 * DAY_MS }
    const state = { ...initialState(), head, lastGoodPollMs: FRIDAY - DAY_MS }
    const dates = (hasDate: boolean | null) =>
      reportsOf({ ...state, hasDate }, config, FRIDAY + 3 * DAY_MS).map(({ date }) => date)
    expect(dates(null)).toEqual(['2026-01-07', '2026-01-08'])
    expect(dates(true).at(-1)).toBe('2026-01-12')
    expect(reportsOf({ ...state, lastGoodPollMs: null }, config, FRIDAY)).toEqual([])
  })

  it('show the state of each daily reconciliation', () => {
    const days = [
      { ...emptyDay('2026-01-06'), walk: { ...walked, state: 'whole' as const } },
      { ...emptyDay('2026-01-07'), walk: { ...walked, state: 'failed' as const } },
    ]
    const rows = reports({ days, countedFromMs: Date.parse('2025-12-29T19:00:00Z') })
    expect(rows.map(({ date, walk }) => [date, walk])).toEqual([
      ['2025-12-29', 'none'],
      ['2025-12-30', 'missed'],
      ['2025-12-31', 'missed'],
      ['2026-01-01', 'none'],
      ['2026-01-02', 'owed'],
      ['2026-01-03', 'none'],
      ['2026-01-04', 'none'],
      ['2026-01-05', 'owed'],
      ['2026-01-06', 'whole'],
      ['2026-01-07', 'failed'],
      ['2026-01-08', 'owed'],
      ['2026-01-09', 'not_due'],
    ])
    expect(rows.find(({ walk }) => walk === 'whole')?.walkedAt).toBe('2026-01-08T19:00:00.000Z')
    expect(reports({}, { dayWalks: null }).map(({ walk }) => walk)).toEqual(['unpaid', 'unpaid', 'unpaid'])
  })

  it('count the gaps that are open over a day', () => {
    const gap = (from: string, to: string): OpenGap => ({ ...sampleGap(from), from, to })
    const openGaps = [
      gap('2026-01-07T23:00:00.000Z', '2026-01-08T01:00:00.000Z'),
      gap('2026-01-08T07:00:00.000Z', '2026-01-08T07:01:00.000Z'),
    ]
    expect(reports({ openGaps }).map(({ gapsLeft }) => gapsLeft)).toEqual([1, 2, 0])
  })

  it('count each unit on the London day on which it was spent', () => {
    /** From midnight in London's summer, an hour before that of UTC. */
    const midnightMs = Date.parse('2026-07-07T23:00:00Z')
    const ledger: Ledger = new Map([
      [midnightMs - HOUR_MS, { poll: 1 }],
      [midnightMs, { poll: 2, sweep: 4, fill: 0 }],
      [midnightMs + 23 * HOUR_MS, { poll: 8 }],
      [midnightMs + 24 * HOUR_MS, { poll: 16 }],
    ])
    const nowMs = midnightMs + 30 * HOUR_MS
    const at = { nowMs, ledger }
    const counted = { countedFromMs: midnightMs - DAY_MS }
    expect(reports(counted, at).map(({ units }) => units)).toEqual([
      { poll: 1 },
      { poll: 10, sweep: 4 },
      { poll: 16 },
    ])
    const apart = { ...at, nowMs: nowMs - 100 * DAY_MS, skewMs: 100 * DAY_MS + 400, ledger: shifted(ledger) }
    expect(reports(counted, apart)).toEqual(reports(counted, at))
  })
})

/** The same ledger, on a clock a hundred days behind. */
function shifted(ledger: Ledger): Ledger {
  return new Map([...ledger].map(([spellMs, units]) => [spellMs - 100 * DAY_MS, units]))
}
