import fc from 'fast-check'
import { expect, test } from 'vitest'
import { guids, type Item, item, walk } from '../../sandbox/sandbox-client.ts'
import { openCopy } from '../routes/replica-server.ts'
import { NOW_MS, openMirror } from './mirror-server.ts'

interface Company {
  name: string
  lei?: string
  instrument?: { isin: string; symbol?: { mnemonic: string } }
}

const LEIS = ['LEIA', 'LEIB', 'LEIC']
const ISINS = ['GB0000000001', 'GB0000000002', 'IE0000000003', 'JE0000000004']
const SYMBOLS = ['AAA', 'BBB', 'CCC']
const FCA = ['FR', 'NAV', 'HOL', 'ADM']
const NATIVE = ['RE', 'HO', 'XX']
const WORDS = ['Final Results', 'Holding(s) in Company', 'net asset value', 'FINAL dividend ']
const FIRST_MS = Date.parse('2026-02-01T00:00:00Z')

/** An optional member. */
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined })

const company: fc.Arbitrary<Company> = fc.record(
  {
    name: fc.constantFrom('Harrow PLC', 'Pendle Fund', 'Selwyn Ltd'),
    lei: fc.constantFrom(...LEIS),
    instrument: fc.record(
      {
        isin: fc.constantFrom(...ISINS),
        symbol: fc.record({ mnemonic: fc.constantFrom(...SYMBOLS) }),
      },
      { requiredKeys: ['isin'] },
    ),
  },
  { requiredKeys: ['name'] },
)

const market: fc.Arbitrary<Item[]> = fc
  .array(
    fc.record({
      second: fc.integer({ min: 0, max: 200_000 }),
      issuer: company,
      related: fc.array(company, { maxLength: 2 }),
      headline: fc.constantFrom(...WORDS),
      fca: fc.subarray(FCA, { maxLength: 2 }),
      native: fc.subarray(NATIVE, { maxLength: 1 }),
    }),
    { minLength: 1, maxLength: 30 },
  )
  .map((drawn) =>
    drawn.map(({ second, issuer, related, headline, fca, native }, index) =>
      item(`urn:x:${(index * 7) % 31}`, new Date(FIRST_MS + second * 1000).toISOString(), {
        issuer,
        related,
        headline,
        category: [
          ...fca.map((code) => ({ kind: 'FCA', code, name: code })),
          ...native.map((code) => ({ kind: 'Native', code, name: code })),
        ],
      }),
    ),
  )

const date = fc.constantFrom(
  '2026',
  '2026-02',
  '2026-02-01',
  '2026-02-02',
  '2026-02-02T05:00',
  '2026-02-01T12:00:00Z',
)

const query = fc.record({
  dateFrom: maybe(date),
  dateTo: maybe(date),
  isins: maybe(fc.subarray(ISINS, { minLength: 1 })),
  symbols: maybe(fc.subarray(SYMBOLS, { minLength: 1 })),
  match: maybe(fc.constantFrom('issuer', 'related', 'exact')),
  fcaCategories: maybe(fc.subarray(FCA, { minLength: 1 })),
  nativeCategories: maybe(fc.subarray(NATIVE, { minLength: 1 })),
  q: maybe(fc.constantFrom('final', 'Results', '(s)', 'zzz', ' ')),
  hasSymbol: maybe(fc.boolean()),
  singular: fc.boolean(),
})
type Query = typeof query extends fc.Arbitrary<infer T> ? T : never

/** First and last moment of a date text, computed independently. */
const PERIODS: Record<string, [string, string]> = {
  '2026': ['2026-01-01T00:00:00Z', '2026-12-31T23:59:59Z'],
  '2026-02': ['2026-02-01T00:00:00Z', '2026-02-28T23:59:59Z'],
  '2026-02-01': ['2026-02-01T00:00:00Z', '2026-02-01T23:59:59Z'],
  '2026-02-02': ['2026-02-02T00:00:00Z', '2026-02-02T23:59:59Z'],
  '2026-02-02T05:00': ['2026-02-02T05:00:00Z', '2026-02-02T05:00:59Z'],
  '2026-02-01T12:00:00Z': ['2026-02-01T12:00:00Z', '2026-02-01T12:00:00Z'],
}

const issuerOf = (listed: Item): Company => listed.issuer as Company
const keyOf = (party: Company): string => party.lei ?? party.name

/** The list by a plain reading of the specification, without an index. */
function naiveList(items: Item[], asked: Query): string[] {
  const instrumentMatches = (names: string[] | undefined, read: (party: Company) => string | undefined) => {
    if (names === undefined) return () => true
    const named = (party: Company): boolean => names.includes(read(party) ?? '-')
    const issuers = items.filter((listed) => named(issuerOf(listed))).map((listed) => keyOf(issuerOf(listed)))
    const isOf = (party: Company): boolean => named(party) || issuers.includes(keyOf(party))
    const listings = sameListings(items, (listed) => named(issuerOf(listed)))
    return (listed: Item): boolean => {
      if (asked.match === 'exact') return listings.has(listed)
      const parties =
        asked.match === 'related' ? [issuerOf(listed), ...(listed.related as Company[])] : [issuerOf(listed)]
      return parties.some(isOf)
    }
  }
  const byIsin = instrumentMatches(asked.isins, (party) => party.instrument?.isin)
  const bySymbol = instrumentMatches(asked.symbols, (party) => party.instrument?.symbol?.mnemonic)
  const hasCode = (listed: Item, kind: string, codes: string[] | undefined): boolean =>
    codes === undefined ||
    (listed.category as { kind: string; code: string }[]).some(
      (tag) => tag.kind === kind && codes.includes(tag.code),
    )
  const to = asked.dateTo === undefined ? Infinity : Date.parse(PERIODS[asked.dateTo]?.[1] ?? '')
  // The default `dateFrom` is thirty days before `dateTo`, for an instrument its whole history. Now is close to every item.
  const ofInstrument = asked.isins !== undefined || asked.symbols !== undefined
  const defaultFrom = ofInstrument || to === Infinity ? -Infinity : to - 30 * 86_400_000
  const from = asked.dateFrom === undefined ? defaultFrom : Date.parse(PERIODS[asked.dateFrom]?.[0] ?? '')
  return items
    .filter(
      (listed) =>
        Date.parse(listed.timestamp) >= from &&
        Date.parse(listed.timestamp) <= to &&
        byIsin(listed) &&
        bySymbol(listed) &&
        hasCode(listed, 'FCA', asked.fcaCategories) &&
        hasCode(listed, 'Native', asked.nativeCategories) &&
        listed.headline.toLowerCase().includes((asked.q ?? '').toLowerCase()) &&
        (asked.hasSymbol !== true || issuerOf(listed).instrument?.symbol !== undefined),
    )
    .sort(newestFirst)
    .map((listed) => listed.guid)
}

/** The items that are chosen, and those that share an ISIN, or a symbol and the company, with one of them, and so on. */
function sameListings(items: Item[], isChosen: (listed: Item) => boolean): Set<Item> {
  const tagsOf = (listed: Item): string[] => {
    const { instrument, ...party } = issuerOf(listed)
    if (instrument === undefined) return []
    const symbol = instrument.symbol?.mnemonic
    return [instrument.isin, ...(symbol === undefined ? [] : [`${symbol} of ${keyOf(party)}`])]
  }
  const found = new Set(items.filter(isChosen))
  for (const one of found) {
    for (const other of items) if (tagsOf(other).some((tag) => tagsOf(one).includes(tag))) found.add(other)
  }
  return found
}

function newestFirst(left: Item, right: Item): number {
  return Date.parse(right.timestamp) - Date.parse(left.timestamp) || (left.guid < right.guid ? 1 : -1)
}

/** The query string, with lists in plural or singular form. */
function textOf(asked: Query): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(asked)) {
    if (value === undefined || name === 'singular') continue
    if (!Array.isArray(value)) params.append(name, String(value))
    else if (asked.singular) {
      for (const member of value) params.append(name.replace('ies', 'y').replace(/s$/, ''), member)
    } else params.append(name, value.join(','))
  }
  return params.toString()
}

/** Both services with these rules, filled in the order of time. */
const services = [
  ['the sandbox', () => openMirror()],
  ['the copy', () => openCopy(NOW_MS)],
] as const

test.each(services)(
  '%s: a list matches a plain reading of the specification, in every paging mode',
  async (_, open) => {
    const { list, publish, empty } = await open()
    await fc.assert(
      fc.asyncProperty(market, fc.array(query, { minLength: 4, maxLength: 4 }), async (items, queries) => {
        empty()
        publish(items)
        for (const asked of queries) {
          const expected = naiveList(items, asked)
          const text = textOf(asked)
          const whole = await list(`${text}&pageSize=200`)
          expect(guids(whole)).toEqual(expected)
          const numbered = await list(`${text}&pageSize=7&pageNumber=2`)
          expect(guids(numbered)).toEqual(expected.slice(7, 14))
          expect(numbered.body.meta.paging).toMatchObject({
            itemTotal: expected.length,
            pageTotal: Math.ceil(expected.length / 7),
          })
        }
      }),
      { numRuns: 40 },
    )
  },
)

test.each(services)(
  '%s: a page scan returns each item that existed when it began once, whatever is inserted meanwhile',
  async (_, open) => {
    const { list, publish, empty } = await open()
    await fc.assert(
      fc.asyncProperty(market, market, fc.integer({ min: 1, max: 6 }), async (items, later, pageSize) => {
        empty()
        publish(items)
        const before = [...items].sort(newestFirst).map((listed) => listed.guid)
        const waiting = later.map((listed) => ({ ...listed, guid: `${listed.guid}:later` }))
        const seen = await walk(list, { pageSize }, () => publish(waiting.splice(0, 3)))
        expect(new Set(seen).size).toBe(seen.length)
        expect(seen.filter((guid) => !guid.endsWith(':later'))).toEqual(before)
      }),
      { numRuns: 40 },
    )
  },
)

test.each(services)(
  '%s: polling returns the newest page after the cursor, and reports when more items follow',
  async (_, open) => {
    const { list, publish, empty } = await open()
    await fc.assert(
      fc.asyncProperty(market, fc.nat(), fc.integer({ min: 1, max: 9 }), async (items, pick, pageSize) => {
        empty()
        publish(items)
        const ordered = [...items].sort(newestFirst).map((listed) => listed.guid)
        const index = pick % ordered.length
        const page = await list({ pageSize: 1, pageNumber: index + 1 })
        const sinceCursor = String(page.body.meta.paging.latestCursor)
        const poll = await list({ sinceCursor, pageSize })
        const after = ordered.slice(0, index)
        expect(guids(poll)).toEqual(after.slice(0, pageSize))
        const { paging } = poll.body.meta
        expect(paging).toMatchObject({
          pageSize,
          count: Math.min(pageSize, after.length),
          hasMore: after.length > pageSize,
        })
        const next = await list({ sinceCursor: String(paging.latestCursor) })
        expect(guids(next)).toEqual([])
        if (after.length === 0) expect(paging.latestCursor).toBe(sinceCursor)
      }),
      { numRuns: 40 },
    )
  },
)
