import { expect, test } from 'vitest'
import { GAP_FILLED, GAP_OPENED, type Gap, gapEvent } from '../../../src/core/event.ts'
import { unusedHead } from '../../../src/ingest/writer-state/head.ts'
import { repairCommit } from '../../../src/ingest/writer-state/repair-commit.ts'
import { changedRows, claimedState } from '../../../src/ingest/writer-state/rows.ts'
import { sampleEvent, sampleGap } from '../../log/samples.ts'

const NOW_MS = Date.parse('2026-01-06T08:00:00Z')
const place = { epoch: 'AAAAAAAA', sequence: 5 }

/** What a claim reads after a head with these gaps was stored. */
function storedWith(...ids: string[]) {
  const head = { ...unusedHead(place.epoch, place.sequence), cursor: 'c', openGaps: ids.map(sampleGap) }
  return { ...place, rows: changedRows(null, { head, ledger: new Map() }) as Map<string, string> }
}

/** The open gaps after the commit. */
function openAfter(
  stored: ReturnType<typeof storedWith>,
  rows: ReadonlyMap<string, string | null> = new Map(),
) {
  const after = new Map(stored.rows)
  for (const [key, text] of rows) text === null ? after.delete(key) : after.set(key, text)
  return claimedState({ ...place, rows: after }).head.openGaps
}

const event = (id: string, type: typeof GAP_OPENED | typeof GAP_FILLED, sequence: number) => {
  const { attempts: _attempts, retryAtMs: _retryAtMs, ...gap } = sampleGap(id)
  return { ...gapEvent(gap, type, { timeMs: NOW_MS, recordedMs: NOW_MS }), sequence, epoch: place.epoch }
}

const lastEvent = { time: '2026-01-06T07:30:00.000Z', recordedtime: '2026-01-06T07:30:01.000Z' }

test('lost events are an open gap from an hour before the last event up to now, in the commit that tells readers', () => {
  const stored = storedWith('old')
  const lost = { lastEvent, openGaps: [] }
  const { commit, gap } = repairCommit(stored, { unknown: [], lost, nowMs: NOW_MS })
  const expected = { from: '2026-01-06T06:30:00.000Z', to: '2026-01-06T08:00:00.000Z', cause: 'outage' }
  expect(gap).toMatchObject(expected)
  expect(commit.events.map(({ type, data }) => [type, JSON.parse(data) as Gap])).toEqual([[GAP_OPENED, gap]])
  expect(openAfter(stored, commit.rows)).toMatchObject([
    { id: 'old' },
    { ...gap, attempts: 0, retryAtMs: NOW_MS },
  ])
})

test('the gap has the time of the upstream, whose clock may differ from ours', () => {
  const stored = storedWith()
  const skewMs = 24 * 3_600_000
  stored.rows.set('head/lastGood', JSON.stringify({ atMs: NOW_MS - 1000, skewMs }))
  const ahead = { ...lastEvent, time: '2026-01-07T07:29:00.000Z' }
  const found = (event: typeof lastEvent | null) =>
    repairCommit(stored, { unknown: [], lost: { lastEvent: event, openGaps: [] }, nowMs: NOW_MS }).gap
  expect(found(ahead)).toMatchObject({ from: '2026-01-07T06:29:00.000Z', to: '2026-01-07T08:00:00.000Z' })
  expect(found(null)).toMatchObject({ from: '2026-01-06T08:00:00.000Z', to: '2026-01-07T08:00:00.000Z' })
})

test('gaps of events that the state does not know are taken over, and closed ones dropped', () => {
  const stored = storedWith('old', 'closed')
  const unknown = [
    event('new', GAP_OPENED, 6),
    { ...sampleEvent(1), sequence: 7, epoch: place.epoch },
    event('short', GAP_OPENED, 8),
    event('short', GAP_FILLED, 9),
    event('closed', GAP_FILLED, 10),
  ]
  const { commit, gap } = repairCommit(stored, { unknown, lost: null, nowMs: NOW_MS })
  expect([gap, commit.events]).toEqual([null, []])
  expect(openAfter(stored, commit.rows).map(({ id }) => id)).toEqual(['old', 'new'])
})

test('a gap that lost events had closed is open again: the items that closed it are lost too', () => {
  const stored = storedWith('old')
  const { attempts: _attempts, retryAtMs: _retryAtMs, ...closed } = sampleGap('closed')
  const lost = { lastEvent, openGaps: [closed, { ...closed, id: 'old' }] }
  const { commit, gap } = repairCommit(stored, { unknown: [], lost, nowMs: NOW_MS })
  expect(openAfter(stored, commit.rows).map(({ id }) => id)).toEqual(['old', 'closed', gap?.id])
  expect(commit.events).toHaveLength(1)
})
