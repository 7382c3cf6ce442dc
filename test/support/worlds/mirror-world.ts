/**
 * Generates a small market from one seed with everything that lists of the upstream API distinguish: companies with a
 * history, share classes, untagged items, missing identifiers, related companies, odd categories and timestamps.
 */
import { type SeededChance, seededChance } from '../../../src/core/chance.ts'
import { DAY_MS } from '../../../src/core/durations.ts'
import type { Item } from '../../sandbox/sandbox-client.ts'

/** Items have times between this many days ago and now. */
export const WORLD_DAYS = 44
const COMPANIES = 14
const ITEMS = 320

export const SYMBOLS = ['AAA', 'BBB', 'CC.', 'DDDD', 'EEE', 'ffL']
export const FCA_CODES = ['FR', 'NAV', 'HOL', 'ADM', 'TVR']
export const NATIVE_CODES = ['RE', 'HO', 'XX']
const HEADLINES = [
  'Final Results',
  'Holding(s) in Company',
  'Net Asset Value(s) ',
  'FINAL dividend – £0.02',
  'Ünïcode "quoted" \\ back',
  '',
]

/** ISIN of the n-th instrument; every company has two of them. */
export function worldIsin(instrument: number): string {
  return `GB00${String(instrument).padStart(8, '0')}`
}

/** Every ISIN that the market uses. */
export const ISINS = Array.from({ length: COMPANIES * 2 }, (_, instrument) => worldIsin(instrument))

/** The market's items, oldest first; `kind` is the native category kind. About one in fifteen is amended. */
export function worldItems(nowMs: number, kind: string): { first: Item[]; amendments: Item[] } {
  const chance = seededChance(7)
  const first = Array.from({ length: ITEMS }, (_, index) => drawItem(chance, nowMs, kind, index)).sort(
    (left, right) => Date.parse(left.timestamp) - Date.parse(right.timestamp),
  )
  const amendments = first
    .filter(() => chance.yes(1 / 15))
    .map((listed) => ({ ...listed, headline: `${listed.headline.slice(0, 20)} (amended)` }))
  return { first, amendments }
}

function drawItem(chance: SeededChance, nowMs: number, kind: string, index: number): Item {
  // Never close to the thirty days of the default range, where the clocks of two services decide.
  const days = chance.yes(0.7) ? chance.between(0, 28) : chance.between(31, WORLD_DAYS - 1)
  const timeMs = nowMs - days * DAY_MS - chance.between(600, 80_000) * 1000
  const whole = new Date(timeMs).toISOString()
  const timestamp = chance.pick([whole, whole.replace('.000Z', 'Z'), whole.replace('.000Z', '.250000Z')])
  const rnsId = `${String(index % 300).padStart(4, '0')}A`
  const guid = `urn:newsml:world.example:${timestamp.slice(0, 10).replaceAll('-', '')}:${rnsId}:${1 + (index % 3)}`
  const fca = chance.yes(0.9) ? [chance.pick(FCA_CODES)] : []
  return {
    rnsId,
    timestamp,
    source: 'RNS',
    guid: index === 5 ? 'urn:world:späc/e 100%' : guid,
    version: chance.yes(0.05) ? null : 1,
    issuer: drawCompany(chance),
    ...(chance.yes(0.25) ? { related: [drawCompany(chance), drawCompany(chance)] } : {}),
    headline: chance.pick(HEADLINES),
    category: [
      ...fca.map((code) => ({ kind: 'FCA', code, name: code, importance: 'high' })),
      ...(chance.yes(0.8) ? [{ kind, code: chance.pick(NATIVE_CODES), name: 'native' }] : []),
      ...(chance.yes(0.1) ? [{ kind: 'RNS', code: 'FR', name: 'a kind that nobody listed' }] : []),
    ],
    publication: [],
    unlisted: { digits: 1.5, nothing: null },
  }
}

/** Every third company has no LEI and one name; the others have two names. Symbols move between instruments. */
function drawCompany(chance: SeededChance): object {
  const company = chance.between(0, COMPANIES - 1)
  const hasLei = company % 3 !== 0
  const name = hasLei && chance.yes(0.5) ? `Company ${company} Group PLC` : `Company ${company % 9} Ltd`
  const isin = worldIsin(company * 2 + chance.between(0, 1))
  const symbol = chance.yes(0.7) ? { symbol: { mnemonic: chance.pick(SYMBOLS) } } : {}
  return {
    name,
    ...(hasLei ? { lei: `LEI${company}` } : {}),
    ...(chance.yes(0.8) ? { instrument: { isin, ...symbol } } : {}),
  }
}
