/**
 * Generates item templates, the fields of announcements before they are published, from a seed: time, issuer, category,
 * identifiers, and the earlier item replaced.
 */
import { crc32 } from 'node:zlib'
import { type SeededChance, seededChance } from '../../core/chance.ts'
import { DAY_MS } from '../../core/durations.ts'
import { type MarketCategory, marketCategories, morningCodes } from '../data/categories.ts'
import { fundBurst, openBurst } from './day-shape.ts'
import { type Issuer, type Issuers, pickPopular } from './issuers.ts'
import type { ItemVariant } from './item-variants.ts'
import { londonMidnightMs } from './london.ts'

/** An item template: an item before it is published. These fields determine its whole text. */
export interface ItemTemplate {
  /** Its timestamp, ms since 1970; whole seconds unless it has a `fraction`. */
  timeMs: number
  /** Decimals of the seconds as written, 0 to 9 digits. */
  fraction: string
  guid: string
  /** Four digits and a letter; not ascending in time. */
  rnsId: string
  category: MarketCategory
  /** Further categories; each adds its FCA category, and its native one unless the item has that already. */
  moreCategories: readonly MarketCategory[]
  issuer: Issuer
  /** Seed of the small choices in its text. */
  seed: number
  /** guid of the item that it replaces, which may never have been published; null = none. */
  replacesGuid: string | null
  /** What its item lacks, or how it breaks the published schema; null = nothing, not at all. */
  variant: ItemVariant | null
}

/** Made-up domain in the guid of every listed item. */
export const GUID_DOMAIN = 'wire.sandbox.example'

/** Fraction of company announcements that replace another; gives about 0.3 % of all items. */
const REPLACING_SHARE = 0.005
const ORPHAN_SHARE = 0.01
/** Fraction of all announcements that name their issuer but no instrument. */
const UNTAGGED_SHARE = 0.005
/** Numbers per letter of an rnsId; a day uses each at most once. */
const NUMBERS = 10_000
/** Coprime to NUMBERS, so that stepping by it visits every number before one repeats. */
const NUMBER_STEP = 7_919

type Phase = 'open' | 'funds' | 'rest'

/** Generates one item template per entry of `seconds` on `day` (`YYYY-MM-DD`), in the order (timestamp, guid). */
export function templatesOf(
  market: { seed: number; issuers: Issuers },
  day: string,
  seconds: readonly number[],
): ItemTemplate[] {
  const daySeed = crc32(`${market.seed}:${day}`)
  const midnightMs = londonMidnightMs(day)
  const { funds } = market.issuers
  const weights = { open: weightsOf('open'), funds: weightsOf('funds'), rest: weightsOf('rest') }
  const templates: ItemTemplate[] = []
  seconds.forEach((second, index) => {
    const seed = crc32(`${daySeed}:${index}`)
    const chance = seededChance(seed)
    const phase = phaseOf(second)
    const category = pickCategory(chance, weights[phase])
    const rnsId = rnsIdOf(daySeed, day, index)
    const nextFund = funds[(daySeed + index) % funds.length] ?? null
    const template: ItemTemplate = {
      timeMs: midnightMs + second * 1000,
      fraction: '',
      guid: guidOf(day, rnsId),
      rnsId,
      category,
      moreCategories: [],
      issuer: pickIssuer(chance, market.issuers, category, phase === 'funds' ? nextFund : null),
      seed,
      replacesGuid: null,
      variant: seededChance(seed ^ 0x38495ab5).yes(UNTAGGED_SHARE) ? 'no-instrument' : null,
    }
    templates.push(template)
    if (category.by === 'company' && chance.yes(REPLACING_SHARE)) {
      replaceEarlier(template, templates.slice(0, -1), chance, day)
    }
  })
  return templates.sort(inOrder)
}

/** Compares in list order: timestamp, then guid. */
export function inOrder(left: ItemTemplate, right: ItemTemplate): number {
  return left.timeMs - right.timeMs || (left.guid < right.guid ? -1 : left.guid > right.guid ? 1 : 0)
}

/** Makes `template` replace an earlier company announcement, or sometimes one that was never published. */
function replaceEarlier(
  template: ItemTemplate,
  earlier: readonly ItemTemplate[],
  chance: SeededChance,
  day: string,
): void {
  const replaced = new Set(earlier.map((candidate) => candidate.replacesGuid))
  const candidates = earlier.filter(
    (candidate) =>
      candidate.category.by === 'company' &&
      !replaced.has(candidate.guid) &&
      candidate.timeMs < template.timeMs,
  )
  if (candidates.length === 0) return
  const before = chance.pick(candidates)
  succeed(template, before)
  if (chance.yes(ORPHAN_SHARE)) template.replacesGuid = neverSeenGuid(day)
}

/** A guid of that day that no announcement has. */
export function neverSeenGuid(day: string): string {
  return guidOf(day, '0000Z')
}

/** Gives `template` another rnsId and the guid derived from it. */
export function renumber(template: ItemTemplate, day: string, rnsId: string): void {
  template.rnsId = rnsId
  template.guid = guidOf(day, rnsId)
}

/** The version at the end of a guid. */
export function versionIn(guid: string): number {
  return Number(guid.slice(guid.lastIndexOf(':') + 1))
}

/** Makes `template` the next version of `before`: its rnsId, and its guid with the next version at the end. */
export function nextVersion(template: ItemTemplate, before: ItemTemplate): void {
  succeed(template, before)
  const { guid, rnsId } = before
  template.rnsId = rnsId
  template.guid = `${guid.slice(0, guid.lastIndexOf(':'))}:${versionIn(guid) + 1}`
}

/** Gives each template one of the category codes, and an issuer that publishes that category. Mutates them. */
export function recategorise(
  templates: readonly ItemTemplate[],
  issuers: Issuers,
  codes: readonly string[],
): void {
  const categories = marketCategories.filter(({ code }) => codes.includes(code))
  for (const template of templates) {
    const chance = seededChance(template.seed ^ 0x2545f491)
    template.category = chance.pick(categories)
    template.issuer = pickIssuer(chance, issuers, template.category, null)
  }
}

/** Makes each of the last `count` templates a correction of one of the first, in order. Mutates them. */
export function correctFirst(templates: readonly ItemTemplate[], count: number): void {
  templates.slice(-count).forEach((template, index) => {
    const before = templates[index]
    if (before !== undefined) succeed(template, before)
  })
}

/** Turns a template into the correction of `before`: same issuer, same category, and a link to it. */
function succeed(template: ItemTemplate, before: ItemTemplate): void {
  template.issuer = before.issuer
  template.category = before.category
  template.replacesGuid = before.guid
}

function phaseOf(second: number): Phase {
  if (second >= openBurst.first && second <= openBurst.last) return 'open'
  return second >= fundBurst.first && second <= fundBurst.last ? 'funds' : 'rest'
}

/**
 * Factor by which a category is likelier in a phase than over the whole day. Chosen so that a usual day matches the
 * weights of `data/categories.ts`, with nine tenths of the second burst being NAVs.
 */
function likelihood(category: MarketCategory, phase: Phase): number {
  const morning = morningCodes.has(category.code)
  if (phase === 'open') return category.by !== 'company' ? 0 : morning ? 1 : 0.12
  if (phase === 'funds') return category.code === 'NAV' ? 21 : 1
  return category.code === 'NAV' ? 0.47 : morning ? 0.75 : 1.35
}

function weightsOf(phase: Phase): number[] {
  return marketCategories.map((category) => category.weight * likelihood(category, phase))
}

function pickCategory(chance: SeededChance, weights: readonly number[]): MarketCategory {
  let left = chance.next() * weights.reduce((sum, weight) => sum + weight, 0)
  const index = weights.findIndex((weight) => {
    left -= weight
    return left < 0
  })
  return marketCategories[index] ?? chance.pick(marketCategories)
}

/** `nextFund`: the fund whose turn it is in the second burst, where fund houses publish one fund after another. */
function pickIssuer(
  chance: SeededChance,
  issuers: Issuers,
  { by }: MarketCategory,
  nextFund: Issuer | null,
): Issuer {
  switch (by) {
    case 'operator':
      return issuers.operator
    case 'holder':
      return chance.pick(issuers.holders)
    case 'company':
      return pickPopular(chance, issuers.companies)
    case 'fund':
      return nextFund ?? chance.pick(issuers.funds)
  }
}

function rnsIdOf(daySeed: number, day: string, index: number): string {
  const number = (daySeed + index * NUMBER_STEP) % NUMBERS
  const dayNumber = Math.floor(Date.parse(day) / DAY_MS)
  const letter = String.fromCharCode(65 + ((dayNumber + Math.floor(index / NUMBERS)) % 25))
  return `${number.toString().padStart(4, '0')}${letter}`
}

function guidOf(day: string, rnsId: string): string {
  return `urn:newsml:${GUID_DOMAIN}:${day.replaceAll('-', '')}:${rnsId}:1`
}
