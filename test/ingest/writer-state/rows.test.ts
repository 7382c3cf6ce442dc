/** The poller's state as stored rows, with the exact bytes that an older version wrote. */
import { describe, expect, it } from 'vitest'
import { PollerWriter } from '../../../src/ingest/writer-state/poller-writer.ts'
import { changedRows, claimedState } from '../../../src/ingest/writer-state/rows.ts'
import { placedRows, placeRows } from '../../../src/log-shared/place-rows.ts'
import { sampleGap } from '../../log/samples.ts'
import { createMemoryLog } from '../../support/memory-log.ts'

/** Written by 0.x of 22 November 2026, commit 2642d9a, with each kind of row; keys in the order of that version. */
const STORED: readonly (readonly [key: string, text: string])[] = [
  ['head/epoch', '"Ab3dEf7h"'],
  ['head/sequence', '41'],
  ['head/cursor', '"c\\"1"'],
  ['head/latestTimeMs', '1767683160000'],
  ['head/lastCleanPollMs', '1767683150000'],
  ['head/lastSpendMs', '1767683561000'],
  ['head/backfill', '{"doneToMs":1767600000000,"untilMs":1767610000000}'],
  ['head/sweep', '{"fromMs":1767682800000,"dueAtMs":1767683400000,"attempts":1}'],
  ['head/round', '{"fromMs":1767681000000,"dueAtMs":null,"newsMs":1767683000000,"attempts":0}'],
  [
    'head/profile',
    '{"slots":[[1.5,2]],"sharp":[],"closed":[1.4,0.7],"weekdays":[[3800,3800]],"monthFirst":[2261,1900],"lagsMs":[0,1200],"learntToMs":1767683000000}',
  ],
  ['head/countedFromMs', '1767600000000'],
  [
    'gap/mk2',
    '{"place":0,"gap":{"id":"mk2","from":"2026-01-06T07:00:00.000Z","to":"2026-01-06T07:05:00.000Z","cause":"overflow","openedAt":"2026-01-06T07:05:00.000Z","found":2,"closedAt":null,"attempts":1,"retryAtMs":1767683100000,"next":{"pageCursor":"p2","toMs":null}}}',
  ],
  [
    'gap/mk1',
    '{"place":1,"gap":{"id":"mk1","from":"2026-01-06T07:00:00.000Z","to":"2026-01-06T07:05:00.000Z","cause":"overflow","openedAt":"2026-01-06T07:05:00.000Z","found":2,"closedAt":null,"attempts":1,"retryAtMs":1767683100000,"doneToMs":1767682900000}}',
  ],
  [
    'day/2026-01-05',
    '{"date":"2026-01-05","polled":1890,"filled":12,"swept":3,"backfilled":0,"amended":1,"rejected":0,"eodSeen":true,"walk":{"state":"owed","atMs":1767690000000,"attempts":1,"pageCursor":"d3"}}',
  ],
  [
    'day/2026-01-06',
    '{"date":"2026-01-06","polled":41,"filled":0,"swept":0,"backfilled":0,"amended":0,"rejected":1,"eodSeen":false,"walk":null}',
  ],
  ['ledger/1767683100000', '{"poll":1,"fill":3}'],
  ['ledger/1767683400000', '{"gateway":1}'],
]

/** What a claim reads from such rows. */
function claimOf(stored: readonly (readonly [string, string])[]) {
  const placed = placedRows(new Map(stored))
  if (placed === null) throw new Error('no rows')
  return { ...placed.place, rows: placed.rows }
}

describe('the stored state of the poller', () => {
  it('of the previous version is read, and written again byte for byte', () => {
    const claim = claimOf(STORED)
    const state = claimedState(claim)
    expect(state.head).toMatchObject({ epoch: 'Ab3dEf7h', sequence: 41, cursor: 'c"1' })
    expect(state.head.openGaps.map(({ id }) => id)).toEqual(['mk2', 'mk1'])
    expect(state.head.days.map(({ date }) => date)).toEqual(['2026-01-05', '2026-01-06'])
    const later = ['head/lastGood', 'head/refusedUntilMs', 'head/firstPage', 'head/cursorTimeMs'].map(
      (key) => [key, 'null'] as const,
    )
    const rows = [...STORED, ...later]
    const byKey = (stored: Iterable<readonly [string, string | null]>) =>
      [...stored].sort(([one], [other]) => (one < other ? -1 : 1))
    expect(byKey([...placeRows(null, claim), ...changedRows(null, state)])).toEqual(byKey(rows))
  })

  it('has gaps first and the cursor last, so a copy that stops between rows never has a cursor without its gap', () => {
    const before = claimedState({ epoch: 'e', sequence: 1, rows: new Map([['head/cursor', '"old"']]) })
    const after = { ...before.head, cursor: 'new', latestTimeMs: 5, sweep: null, openGaps: [sampleGap('g')] }
    const ledger = new Map([[0, { poll: 1 }]])
    const keys = [...changedRows(before, { head: after, ledger }).keys()]
    expect(keys).toEqual(['gap/g', 'head/latestTimeMs', 'ledger/0', 'head/cursor'])
  })

  it('does not depend on the order of its rows', () => {
    expect(claimedState(claimOf(STORED.toReversed()))).toEqual(claimedState(claimOf(STORED)))
    expect(changedRows(claimedState(claimOf(STORED.toReversed())), claimedState(claimOf(STORED))).size).toBe(
      0,
    )
  })

  it('uses initial values for rows that an older version did not store, and ignores unknown rows', () => {
    const state = claimedState(
      claimOf([...STORED.slice(0, 3), ['other/row', 'not JSON'], ['head/unknown', '1']]),
    )
    expect(state.head).toMatchObject({ cursor: 'c"1', latestTimeMs: 0, sweep: null, openGaps: [], days: [] })
    expect(state.ledger.size).toBe(0)
    expect(Object.keys(state.head)).not.toContain('unknown')
  })

  it('is reported as damaged when a row is not JSON, or the log position is missing', () => {
    const broken = STORED.map(([key, text]) => [key, key === 'gap/mk1' ? '{' : text] as const)
    expect(() => claimedState(claimOf(broken))).toThrow(expect.objectContaining({ code: 'log_damaged' }))
    expect(() => claimOf(STORED.slice(1))).toThrow(expect.objectContaining({ code: 'log_damaged' }))
  })

  it('of a new log is written in full by the first operation, later only what changed', async () => {
    const log = createMemoryLog()
    const { signal } = new AbortController()
    const claim = async () => log.claim(await log.campaign(signal), signal)
    const writer = new PollerWriter(await claim())
    await writer.spend(1, 'poll', 1767683160000)
    const first = (await claim()).rows
    const fields = [
      ...['cursor', 'cursorTimeMs', 'latestTimeMs', 'lastCleanPollMs', 'lastSpendMs', 'lastGood'],
      ...['refusedUntilMs', 'backfill', 'sweep', 'round', 'profile', 'firstPage', 'countedFromMs'],
    ]
    const written = [...fields.map((field) => `head/${field}`), 'ledger/1767683100000']
    expect([...first.keys()].sort()).toEqual(written.sort())
    const changed = changedRows(claimedState({ epoch: 'e', sequence: 0, rows: first }), {
      ...writer.state,
      head: { ...writer.state.head, cursor: 'next' },
    })
    expect([...changed]).toEqual([['head/cursor', '"next"']])
  })

  it('are damage where a bound of a gap cannot be read, never a bound in 1970', () => {
    for (const bound of ['from', 'to', 'openedAt']) {
      const broken = STORED.map(([key, text]) =>
        key === 'gap/mk2'
          ? ([key, text.replace(new RegExp(`"${bound}":"[^"]*"`), `"${bound}":"soon"`)] as const)
          : ([key, text] as const),
      )
      expect(() => claimedState(claimOf(broken))).toThrow(
        expect.objectContaining({ code: 'log_damaged', message: expect.stringContaining('"soon"') }),
      )
    }
  })
})
