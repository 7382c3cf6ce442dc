/**
 * Generates item templates from the seed: time, issuer, category, identifiers, and which earlier item each replaces.
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
export interface Draft {
  /** Its timestamp, ms since 1970; whole seconds unless it has a `fraction`. */
  timeMs: number
  /** Decimals of the seconds as written, 0 to 9 digits. */
  fraction: string
  guid: string
  /** Four digits and a letter; not ascending in time. */
  rnsId: string
  category: MarketCategory
  issuer: Issuer
  /** Seed of the small choices in its text. */
  seed: number
  /** guid of the item that it replaces, which may never have been published; null = none. */
  replacesGuid: string | null
  /** How its item breaks the published schema; null = not at all. */
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
export function draftDay(
  market: { seed: number; issuers: Issuers },
  day: string,
  seconds: readonly number[],
): Draft[] {
  const daySeed = crc32(`${market.seed}:${day}`)
  const midnightMs = londonMidnightMs(day)
  const firstFund = daySeed % market.issuers.funds.length
  const weights = { open: weightsOf('open'), funds: weightsOf('funds'), rest: weightsOf('rest') }
  const drafts: Draft[] = []
  seconds.forEach((second, index) => {
    const seed = crc32(`${daySeed}:${index}`)
    const chance = seededChance(seed)
    const phase = phaseOf(second)
    const category = pickCategory(chance, weights[phase])
    const rnsId = rnsIdOf(daySeed, day, index)
    const draft: Draft = {
      timeMs: midnightMs + second * 1000,
      fraction: '',
      guid: guidOf(day, rnsId),
      rnsId,
      category,
      issuer: pickIssuer(chance, market.issuers, { category, phase, firstFund, index }),
      seed,
      replacesGuid: null,
      variant: seededChance(seed ^ 0x38495ab5).yes(UNTAGGED_SHARE) ? 'no-instrument' : null,
    }
    drafts.push(draft)
    if (category.by === 'company' && chance.yes(REPLACING_SHARE)) {
      replaceEarlier(draft, drafts.slice(0, -1), chance, day)
    }
  })
  return drafts.sort(inOrder)
}

/** Compares in list order: timestamp, then guid. */
export function inOrder(left: Draft, right: Draft): number {
  return left.timeMs - right.timeMs || (left.guid < right.guid ? -1 : left.guid > right.guid ? 1 : 0)
}

/** Makes `draft` replace an earlier company announcement, or sometimes one that was never published. */
function replaceEarlier(draft: Draft, earlier: readonly Draft[], chance: SeededChance, day: string): void {
  const replaced = new Set(earlier.map((candidate) => candidate.replacesGuid))
  const candidates = earlier.filter(
    (candidate) =>
      candidate.category.by === 'company' && !replaced.has(candidate.guid) && candidate.timeMs < draft.timeMs,
  )
  if (candidates.length === 0) return
  const before = chance.pick(candidates)
  succeed(draft, before)
  if (chance.yes(ORPHAN_SHARE)) draft.replacesGuid = neverSeenGuid(day)
}

/** A guid of that day that no announcement has. */
export function neverSeenGuid(day: string): string {
  return guidOf(day, '0000Z')
}

/** Gives `draft` another rnsId and the guid derived from it. */
export function renumber(draft: Draft, day: string, rnsId: string): void {
  draft.rnsId = rnsId
  draft.guid = guidOf(day, rnsId)
}

/** Gives `draft` one of the category codes, and an issuer that publishes that category. */
export function recategorise(draft: Draft, issuers: Issuers, codes: readonly string[]): void {
  const chance = seededChance(draft.seed ^ 0x2545f491)
  draft.category = chance.pick(marketCategories.filter(({ code }) => codes.includes(code)))
  draft.issuer = pickIssuer(chance, issuers, {
    category: draft.category,
    phase: 'rest',
    firstFund: 0,
    index: 0,
  })
}

/** Turns `draft` into the correction of `before`: same issuer, same category, and a link to it. */
export function succeed(draft: Draft, before: Draft): void {
  draft.issuer = before.issuer
  draft.category = before.category
  draft.replacesGuid = before.guid
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

function pickIssuer(
  chance: SeededChance,
  issuers: Issuers,
  draft: { category: MarketCategory; phase: Phase; firstFund: number; index: number },
): Issuer {
  switch (draft.category.by) {
    case 'operator':
      return issuers.operator
    case 'holder':
      return chance.pick(issuers.holders)
    case 'company':
      return pickPopular(chance, issuers.companies)
    case 'fund': {
      // Fund houses publish their funds one after another.
      const inTurn = issuers.funds[(draft.firstFund + draft.index) % issuers.funds.length]
      return draft.phase === 'funds' && inTurn !== undefined ? inTurn : chance.pick(issuers.funds)
    }
  }
}

function rnsIdOf(daySeed: number, day: string, index: number): string {
  const number = (daySeed + index * NUMBER_STEP) % NUMBERS
  const dayNumber = Math.floor(Date.parse(day) / DAY_MS)
  const letter = String.fromCharCode(65 + ((dayNumber + Math.floor(index / NUMBERS)) % 25))
  return `${String(number).padStart(4, '0')}${letter}`
}

function guidOf(day: string, rnsId: string): string {
  return `urn:newsml:${GUID_DOMAIN}:${day.replaceAll('-', '')}:${rnsId}:1`
}
