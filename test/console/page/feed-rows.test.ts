/** Rows of the feed are made of whatever upstream sent. */
import { expect, test } from 'vitest'
import type { DisclosureEvent, GapEvent } from '../../../clients/typescript/src/messages.ts'
import { delayOf, type FeedRow, gapWords, rowOf } from '../../../src/console/page/screens/feed/feed-rows.ts'
import { hostileValues } from '../../support/product/hostile-values.ts'

const envelope = {
  specversion: '1.0',
  id: 'urn:newsml:x:20261123:1:1',
  source: '/disclosures/sources/rns',
  time: '2026-11-23T07:00:01Z',
  subject: 'x',
  sequence: '00000000000000000007',
  epoch: 'Hx9CTJZ9',
  cursor: 'c7',
  recordedtime: '2026-11-23T07:00:02.500Z',
  datacontenttype: 'application/json',
}

function disclosure(data: Record<string, unknown>, more: Partial<DisclosureEvent> = {}): DisclosureEvent {
  return { ...envelope, type: 'disclosure.published.v1', data, ...more }
}

test('an announcement has its issuer, its categories, the highest importance and its delay', () => {
  const row = rowOf(
    disclosure(
      {
        headline: 'Final Results',
        issuer: { name: 'Acme PLC', lei: 'L', instrument: { isin: 'I', symbol: { mnemonic: 'ACM' } } },
        category: [
          { kind: 'Native', code: 'RE', name: 'Results' },
          { kind: 'FCA', code: 'AGM', name: 'AGM', importance: 'low' },
          { kind: 'FCA', code: 'FR', name: 'Final Results', importance: 'high' },
          { kind: 'RNS', code: 'X', name: 'other' },
        ],
      },
      { type: 'disclosure.amended.v1', late: 'true', replacesid: 'y' },
    ),
    null,
  )
  expect(row).toMatchObject({
    kind: 'announcement',
    level: 'high',
    symbol: 'ACM',
    isin: 'I',
    lei: 'L',
    headline: 'Final Results',
    issuer: 'Acme PLC',
    isAmended: true,
    isLate: true,
    replaces: true,
  })
  expect(row.kind === 'announcement' && row.categories.map(({ field }) => field)).toEqual([
    'nativeCategories',
    'fcaCategories',
    'fcaCategories',
    null,
  ])
})

test('every member may be anything', () => {
  for (const value of Object.values(hostileValues).map((text): unknown => JSON.parse(text))) {
    for (const data of [
      { headline: value, issuer: value, category: value },
      { issuer: { name: value, lei: value, instrument: value }, category: [value] },
      {
        issuer: { instrument: { isin: value, symbol: value } },
        category: [{ kind: value, code: value, name: value, importance: value }],
      },
    ]) {
      const row = rowOf(disclosure(data as Record<string, unknown>), 0)
      if (row.kind !== 'announcement') throw new Error('no announcement')
      for (const text of [row.headline, row.issuer, row.symbol, row.isin, row.lei])
        expect(typeof text).toBe('string')
    }
  }
})

test('a gap says between when announcements may be missing, and how it ended', () => {
  const data = {
    id: 'g1',
    from: '2026-11-23T07:00:00Z',
    to: '2026-11-23T07:00:09Z',
    cause: 'overflow',
    openedAt: '2026-11-23T07:00:10Z',
    found: 41,
    closedAt: null,
  }
  const words = (state: string, more: object = {}): string => {
    const event = {
      ...envelope,
      source: '/bridge',
      type: `bridge.gap.${state}.v1`,
      data: { ...data, ...more },
    }
    const row: FeedRow = rowOf(event as GapEvent, 0)
    if (row.kind !== 'gap') throw new Error('no gap')
    return gapWords(row, (ms) => new Date(ms).toISOString().slice(11, 19))
  }
  expect(words('opened')).toBe(
    'Between 07:00:00 and 07:00:09 announcements may be missing: more arrived at once than a poll returns.',
  )
  expect(words('filled')).toBe(
    'Between 07:00:00 and 07:00:09 nothing is missing any more: 41 announcements were found.',
  )
  expect(words('given_up', { found: 1 })).toContain('may be missing for good; 1 announcement was found')
})

test('a delay goes by upstream’s clock as the row knows it, and is never negative', () => {
  const delay = (aheadMs: number | null): number => {
    const row = rowOf(disclosure({}), aheadMs)
    if (row.kind !== 'announcement') throw new Error('no announcement')
    return delayOf(row)
  }
  expect([0, 500, -5000, null].map(delay)).toEqual([1500, 2000, 0, 1500])
})
