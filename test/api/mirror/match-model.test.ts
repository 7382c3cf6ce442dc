import fc from 'fast-check'
import { expect, test } from 'vitest'
import { guids, type Item, item } from '../../sandbox/sandbox-client.ts'
import { openCopy } from '../routes/replica-server.ts'
import { NOW_MS, openMirror } from './mirror-server.ts'

/**
 * A market with its true companies. A company is identified by its LEI under every name it had; one without LEI has one name
 * here, because nothing else would identify it. Instruments are siblings; a symbol may move from one to
 * another, of any company, as symbols do over time.
 */
interface Company {
  lei: boolean
  names: string[]
  isins: string[]
}

/** A company named by an item: its name there, and the tagged instrument and symbol if any. */
interface Mention {
  company: number
  name: number
  tag: { isin: number; symbol: string | null } | null
}

interface Published {
  by: Mention
  about: Mention[]
}

const COMPANIES: Company[] = [
  { lei: true, names: ['Harrow PLC', 'Harrow Group PLC'], isins: ['GB0000000001', 'GB0000000002'] },
  { lei: true, names: ['Pendle Fund', 'HARROW PLC'], isins: ['IE0000000003'] },
  { lei: false, names: ['Selwyn Ltd'], isins: ['JE0000000004', 'JE0000000005'] },
  { lei: false, names: ['Tarn Bank'], isins: ['GB0000000006'] },
]
const SYMBOLS = ['AAA', 'BBB', 'CCC']

const mention: fc.Arbitrary<Mention> = fc.record({
  company: fc.nat({ max: COMPANIES.length - 1 }),
  name: fc.nat({ max: 1 }),
  tag: fc.option(fc.record({ isin: fc.nat({ max: 1 }), symbol: fc.option(fc.constantFrom(...SYMBOLS)) })),
})
const market: fc.Arbitrary<Published[]> = fc.array(
  fc.record({ by: mention, about: fc.array(mention, { maxLength: 2 }) }),
  { minLength: 1, maxLength: 25 },
)

type Question = { isin: string } | { symbol: string }
const question: fc.Arbitrary<Question> = fc.oneof(
  fc.record({ isin: fc.constantFrom(...COMPANIES.flatMap(({ isins }) => isins)) }),
  fc.record({ symbol: fc.constantFrom(...SYMBOLS) }),
)

function ofCompany<T>(list: readonly T[], index: number): T {
  const member = list[index % list.length]
  if (member === undefined) throw new RangeError('an empty list')
  return member
}

function isTagged({ company, tag }: Mention, asked: Question): boolean {
  if (tag === null) return false
  if ('symbol' in asked) return tag.symbol === asked.symbol
  return ofCompany(ofCompany(COMPANIES, company).isins, tag.isin) === asked.isin
}

/** The three matching rules of specification §4.1.4, from the true companies. */
const readings: Record<string, (items: Published[], asked: Question) => Published[]> = {
  exact: (items, asked) => {
    const found = new Set(items.filter(({ by }) => isTagged(by, asked)))
    for (let before = -1; before < found.size; ) {
      before = found.size
      for (const one of items) {
        if ([...found].some((other) => isSameListing(one.by, other.by))) found.add(one)
      }
    }
    return items.filter((one) => found.has(one))
  },
  issuer: (items, asked) => {
    const issuers = issuersUnder(items, asked)
    return items.filter(({ by }) => issuers.has(by.company))
  },
  related: (items, asked) => {
    const issuers = issuersUnder(items, asked)
    const isAbout = (named: Mention): boolean => issuers.has(named.company) || isTagged(named, asked)
    return items.filter(({ by, about }) => issuers.has(by.company) || about.some(isAbout))
  },
}

/** Whether two items are tagged as one listing: by one ISIN, or by one symbol of one company. */
function isSameListing(left: Mention, right: Mention): boolean {
  if (left.company !== right.company || left.tag === null || right.tag === null) return false
  const { isins } = ofCompany(COMPANIES, left.company)
  const hasOneIsin = ofCompany(isins, left.tag.isin) === ofCompany(isins, right.tag.isin)
  return hasOneIsin || (left.tag.symbol !== null && left.tag.symbol === right.tag.symbol)
}

function issuersUnder(items: Published[], asked: Question): Set<number> {
  return new Set(items.filter(({ by }) => isTagged(by, asked)).map(({ by }) => by.company))
}

function companyJson({ company: index, name, tag }: Mention): object {
  const company = ofCompany(COMPANIES, index)
  const symbol = tag?.symbol === null || tag === null ? {} : { symbol: { mnemonic: tag.symbol } }
  return {
    name: ofCompany(company.names, name),
    ...(company.lei ? { lei: `LEI${index}` } : {}),
    ...(tag === null ? {} : { instrument: { isin: ofCompany(company.isins, tag.isin), ...symbol } }),
  }
}

function itemsOf(published: readonly Published[]): Item[] {
  return published.map(({ by, about }, index) =>
    item(`urn:x:${index}`, new Date(NOW_MS - (published.length - index) * 1000).toISOString(), {
      issuer: companyJson(by),
      ...(about.length === 0 ? {} : { related: about.map(companyJson) }),
    }),
  )
}

test.each([
  ['the sandbox', () => openMirror()],
  ['the copy', () => openCopy(NOW_MS)],
] as const)(
  '%s: issuer, related and exact match the items that their companies published',
  async (_, open) => {
    const { list, publish, empty } = await open()
    await fc.assert(
      fc.asyncProperty(
        market,
        fc.array(question, { minLength: 2, maxLength: 2 }),
        async (published, questions) => {
          empty()
          publish(itemsOf(published))
          for (const asked of questions) {
            for (const [match, reading] of Object.entries(readings)) {
              const expected = reading(published, asked).map((one) => `urn:x:${published.indexOf(one)}`)
              const reply = await list({ ...asked, match, pageSize: 200 })
              expect({ match, asked, found: guids(reply) }).toEqual({
                match,
                asked,
                found: expected.toReversed(),
              })
            }
          }
        },
      ),
      { numRuns: 60 },
    )
  },
)
