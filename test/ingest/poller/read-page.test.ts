import { describe, expect, it } from 'vitest'
import { contentHash } from '../../../src/core/disclosure.ts'
import { readItems } from '../../../src/ingest/poller/read-page.ts'

const NOW = Date.UTC(2026, 0, 6, 7)

function page(...items: object[]) {
  return {
    items: items.map((value) => ({ text: JSON.stringify(value), value })),
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
    const read = readItems(
      page(item('one'), item('two')),
      () => published,
      () => false,
      () => false,
      NOW,
    )
    expect(read.fresh.map(({ disclosure, revision }) => [disclosure.headline, revision])).toEqual([
      ['two', 2],
      ['one', 3],
    ])
  })

  it('leaves out items that are already published, and counts them', () => {
    const published = new Map([['urn:a', { revision: 4, hash: contentHash(item('one')) }]])
    const read = readItems(
      page(item('one'), item('new', 'urn:b')),
      () => published,
      () => false,
      () => false,
      NOW,
    )
    expect(read.fresh.map(({ disclosure, revision }) => [disclosure.guid, revision])).toEqual([['urn:b', 1]])
    expect([read.count, read.duplicates]).toEqual([2, 1])
  })

  it('rejects a guid that looks like a revision id, and an item above half a megabyte', () => {
    const read = readItems(
      page(item('one', 'urn:a#2'), item('x'.repeat(600_000), 'urn:b')),
      () => new Map(),
      () => false,
      () => false,
      NOW,
    )
    expect(read.rejected.map(({ guid, reason }) => [guid, reason])).toEqual([
      ['urn:a#2', 'the guid ends like a revision'],
      ['urn:b', 'larger than 524288 bytes'],
    ])
  })

  it('treats an unknown item that may be beyond retention as published, but not a known one', () => {
    const published = new Map([['urn:a', { revision: 1, hash: contentHash(item('one')) }]])
    const asked: number[] = []
    const read = readItems(
      page(item('two'), item('old', 'urn:b'), item('one', 'urn:a')),
      () => published,
      () => false,
      (timeMs) => asked.push(timeMs) > 0,
      NOW,
    )
    expect(read.fresh.map(({ disclosure, revision }) => [disclosure.guid, revision])).toEqual([['urn:a', 2]])
    expect([read.duplicates, asked]).toEqual([2, [NOW]])
  })
})
