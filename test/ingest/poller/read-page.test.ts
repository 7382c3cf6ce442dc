import { describe, expect, it } from 'vitest'
import { contentHash } from '../../../src/core/disclosure.ts'
import { readItems } from '../../../src/ingest/poller/read-page.ts'
import { atOnce } from '../../../src/lifecycle/slices.ts'
import { rejectedHash } from '../../../src/log/events.ts'
import type { RawItem } from '../../../src/upstream/page.ts'

const NOW = Date.UTC(2026, 0, 6, 7)

function page(...items: object[]) {
  return pageOf(...items.map((value) => ({ text: JSON.stringify(value), value })))
}

function pageOf(...items: RawItem[]) {
  return {
    items,
    nextCursor: null,
    latestCursor: 'c',
    hasMore: false,
    warnings: [],
  }
}

const item = (headline: string, guid = 'urn:a') => ({ guid, timestamp: '2026-01-06T07:00:00Z', headline })

describe('a page of items', () => {
  it('gives the first of two contents of a guid on a page the later revision, whatever is published', () => {
    const published = new Map([['urn:a', { revision: 1, hash: contentHash(item('one')) }]])
    const steps = readItems(
      page(item('one'), item('two')),
      () => published,
      () => false,
      () => false,
      NOW,
    )
    const read = atOnce(steps)
    expect(read.fresh.map(({ disclosure, revision }) => [disclosure.headline, revision])).toEqual([
      ['two', 2],
      ['one', 3],
    ])
  })

  it('leaves out items that are already published, and counts them', () => {
    const published = new Map([['urn:a', { revision: 4, hash: contentHash(item('one')) }]])
    const steps = readItems(
      page(item('one'), item('new', 'urn:b')),
      () => published,
      () => false,
      () => false,
      NOW,
    )
    const read = atOnce(steps)
    expect(read.fresh.map(({ disclosure, revision }) => [disclosure.guid, revision])).toEqual([['urn:b', 1]])
    expect([read.count, read.duplicates]).toEqual([2, 1])
  })

  it('rejects a guid that looks like a revision id, and an item that was not parsed', () => {
    const large = { text: 'cut', value: { guid: 'urn:b' }, fault: 'larger than 524288 bytes' }
    const steps = readItems(
      pageOf(...page(item('one', 'urn:a#2')).items, large),
      () => new Map(),
      () => false,
      () => false,
      NOW,
    )
    expect(atOnce(steps).rejected.map(({ guid, reason }) => [guid, reason])).toEqual([
      ['urn:a#2', 'the guid ends like a revision'],
      ['urn:b', 'larger than 524288 bytes'],
    ])
  })

  it('rejects each unreadable text once, and none that is already stored', () => {
    const stored: string[] = []
    const rejectedOf = (...texts: string[]) => {
      const raw = texts.map((text) => ({ text, value: null }))
      const isStored = (hash: string) => stored.some((text) => rejectedHash(text) === hash)
      const never = () => false
      const { rejected } = atOnce(readItems(pageOf(...raw), () => new Map(), isStored, never, NOW))
      return rejected.map((one) => one.raw)
    }
    const [long, longer] = ['x'.repeat(800_000), 'x'.repeat(800_001)]
    stored.push(...rejectedOf('1', '2', '1', long))
    expect(stored).toEqual([
      '1',
      '2',
      expect.stringMatching(/^x{786432}… \[800000 bytes in all, SHA-256 [0-9a-f]{64}\]$/),
    ])
    expect(rejectedOf('2', long, longer, '3')).toEqual([expect.stringContaining('[800001 bytes'), '3'])
  })

  it('keeps only the beginnings of unreadable items once it has 8 MiB of them, and tells them apart', () => {
    const raw = Array.from({ length: 30 }, (_, n) => ({ text: 'x'.repeat(700_000) + n, value: null }))
    const never = () => false
    const { rejected } = atOnce(readItems(pageOf(...raw), () => new Map(), never, never, NOW))
    const lengths = rejected.map((one) => one.raw.length)
    expect(rejected).toHaveLength(30)
    expect(lengths.filter((length) => length > 700_000)).toHaveLength(12)
    expect(Math.max(...lengths.slice(12))).toBeLessThan(1200)
  })

  it('treats an unknown item that may be beyond retention as published, but not a known one', () => {
    const published = new Map([['urn:a', { revision: 1, hash: contentHash(item('one')) }]])
    const asked: number[] = []
    const steps = readItems(
      page(item('two'), item('old', 'urn:b'), item('one', 'urn:a')),
      () => published,
      () => false,
      (timeMs) => asked.push(timeMs) > 0,
      NOW,
    )
    const read = atOnce(steps)
    expect(read.fresh.map(({ disclosure, revision }) => [disclosure.guid, revision])).toEqual([['urn:a', 2]])
    expect([read.duplicates, asked]).toEqual([2, [NOW]])
  })

  it('takes a content that differs only in digits which a double does not hold for another one', () => {
    const withNumber = (digits: string): RawItem => {
      const text = JSON.stringify(item('one')).replace('}', `,"volume":${digits}}`)
      return { text, value: JSON.parse(text) }
    }
    const read = atOnce(
      readItems(
        pageOf(withNumber('9007199254740993'), withNumber('9007199254740992')),
        () => new Map(),
        () => false,
        () => false,
        NOW,
      ),
    )
    expect(read.fresh.map(({ revision }) => revision)).toEqual([1, 2])
  })
})
