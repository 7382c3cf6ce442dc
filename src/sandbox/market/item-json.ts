/**
 * Writes an announcement as JSON text in the upstream's form (specification §2.1 to §2.8), about 1.5 KB. The input is
 * an item template, the fields of an item before it is published; the same template gives the same bytes.
 */
import { type SeededChance, seededChance } from '../../core/chance.ts'
import { isoSeconds } from '../../core/dates.ts'
import { type MarketCategory, nativeNames } from '../data/categories.ts'
import { months, places } from '../data/names.ts'
import { appearanceAt, type Instrument, type Issuer, type Issuers, pickPopular } from './issuers.ts'
import { type ItemTemplate, versionIn } from './item-template.ts'
import { type CompanyJson, type ItemJson, itemVariants, LONGEST_HEADLINE } from './item-variants.ts'

/** Fraction of announcements that name another company; the second is for forms that holders file about companies. */
const RELATED_SHARE = 0.02
const HOLDER_RELATED_SHARE = 0.9
/** Fraction of two-instrument issuers' announcements that name the second instrument. */
const SIBLING_SHARE = 0.3

/** How the second revision differs from the item as first published. */
export interface Amendment {
  /** Its new timestamp, ms since 1970; null = as before. */
  restampMs: number | null
}

/** What the text depends on besides the item template. */
export interface ItemContext {
  issuers: Issuers
  /** Kind of the service's own categories, e.g. `Native`. */
  nativeKind: string
  /** Prefix of the document URLs. */
  documentsUrl: string
}

/** Writes the item's JSON text. */
export function itemJson(
  template: ItemTemplate,
  market: ItemContext,
  amendment: Amendment | null = null,
): string {
  const chance = seededChance(template.seed ^ 0x5f375a86)
  const other = pickPopular(chance, market.issuers.companies)
  const text = headline(template, chance, other)
  const named = chance.yes(template.category.by === 'holder' ? HOLDER_RELATED_SHARE : RELATED_SHARE)
  const published = timestamp(template)
  const document = `${market.documentsUrl}/rns/${published.slice(0, 10)}/${template.rnsId}/${slug(text)}`
  const item = {
    rnsId: template.rnsId,
    timestamp:
      amendment === null || amendment.restampMs === null ? published : isoSeconds(amendment.restampMs),
    source: 'RNS',
    guid: template.guid,
    version: versionIn(template.guid),
    issuer: company(template.issuer, template.timeMs, chance),
    ...(named ? { related: [company(other, template.timeMs, chance)] } : {}),
    headline: amendment === null ? text : `${text.slice(0, LONGEST_HEADLINE - 4)} (2)`,
    category: categories(template, market.nativeKind),
    publication: [
      { mime: 'text/html', url: `${document}.html` },
      { mime: 'application/pdf', url: `${document}.pdf` },
    ],
    derivatives: { semanticHtml: { url: `${document}.semantic.html` } },
    ...(template.replacesGuid === null
      ? {}
      : { replaces: { guid: template.replacesGuid, version: versionIn(template.replacesGuid) } }),
  }
  return JSON.stringify(template.variant === null ? item : itemVariants[template.variant](item))
}

function timestamp({ timeMs, fraction }: ItemTemplate): string {
  const seconds = isoSeconds(timeMs)
  return fraction === '' ? seconds : seconds.replace('Z', `.${fraction}Z`)
}

/** The company with its name and instrument at that time. */
function company(issuer: Issuer, timeMs: number, chance: SeededChance): CompanyJson {
  const { name, instruments } = appearanceAt(issuer, timeMs)
  const [first, sibling] = instruments
  const instrument = sibling !== undefined && chance.yes(SIBLING_SHARE) ? sibling : first
  return {
    name,
    ...(issuer.lei === null ? {} : { lei: issuer.lei }),
    ...(instrument === undefined ? {} : { instrument: instrumentJson(instrument) }),
  }
}

/** Returns an instrument in upstream's shape (specification §2.3). */
export function instrumentJson({ isin, symbol }: Instrument): {
  isin: string
  symbol?: { mnemonic: string }
} {
  return { isin, ...(symbol === null ? {} : { symbol: { mnemonic: symbol } }) }
}

function categories({ category, moreCategories }: ItemTemplate, nativeKind: string): ItemJson['category'] {
  const all = [category, ...moreCategories]
  return [
    ...[...new Set(all.map(({ native }) => native))].map((code) => ({
      kind: nativeKind,
      code,
      name: nativeNames[code] ?? code,
    })),
    ...all.map(fcaCategory),
  ]
}

function fcaCategory({ code, name, importance }: MarketCategory): ItemJson['category'][number] {
  return {
    kind: 'FCA',
    code,
    name,
    description:
      `Announcements that issuers, holders or the market file under the headline "${name}" (code ${code}). ` +
      'This text was written for the sandbox and stands for the longer description of the official list: ' +
      'what must be announced, by whom, and under which rule. It has about the length of a real one, so that ' +
      'pages of the sandbox weigh what pages of the live service weigh. A reader that needs only codes and names can ' +
      'leave it out; a reader that stores it should know that it is the same for every item of one code.',
    ...(importance === null ? {} : { importance }),
  }
}

function headline(template: ItemTemplate, chance: SeededChance, other: Issuer): string {
  const values: Record<string, string> = {
    name: appearanceAt(template.issuer, template.timeMs).name,
    other: appearanceAt(other, template.timeMs).name,
    month: chance.pick(months),
    place: chance.pick(places),
    year: new Date(template.timeMs).getUTCFullYear().toString(),
    n: chance.between(2, 240).toString(),
  }
  const words = chance.pick(template.category.headlines)
  return words.replace(/\{(\w+)\}/g, (_, word: string) => values[word] ?? '').slice(0, LONGEST_HEADLINE)
}

function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}
