/**
 * Generates the text of an item's documents: title, facts, and sections of sentences. The same item JSON always gives
 * the same text.
 */
import { crc32 } from 'node:zlib'
import { seededChance } from '../../core/chance.ts'
import { readDisclosure } from '../../core/disclosure.ts'
import { months, places } from '../data/names.ts'
import { headings, sentences } from '../data/sentences.ts'

/** The full text of an announcement. */
export interface AnnouncementText {
  title: string
  /** Label and value. */
  facts: readonly (readonly [string, string])[]
  sections: readonly { heading: string; paragraphs: readonly string[] }[]
}

const PARAGRAPHS_A_SECTION = 2
const SENTENCES_A_PARAGRAPH = 3

/** Generates the announcement of an item; null if the item is unreadable. */
export function announcementText(raw: string): AnnouncementText | null {
  const read = readDisclosure(JSON.parse(raw))
  if (!read.ok) return null
  const { guid, timestamp, headline, issuer, categories, replacesGuid } = read.disclosure
  const chance = seededChance(crc32(guid))
  const name = issuer.name ?? 'The issuer'
  const values: Record<string, () => string> = {
    name: () => name,
    place: () => chance.pick(places),
    month: () => chance.pick(months),
    year: () => timestamp.slice(0, 4),
    n: () => chance.between(2, 240).toString(),
  }
  const sentence = (): string =>
    chance.pick(sentences).replace(/\{(\w+)\}/g, (_, word: string) => values[word]?.() ?? '')
  const paragraph = (): string => Array.from({ length: SENTENCES_A_PARAGRAPH }, sentence).join(' ')
  const facts = [
    ['Company', issuer.name],
    ['LEI', issuer.lei],
    ['ISIN', issuer.isin],
    ['Symbol', issuer.symbol],
    ['Released', timestamp],
    ['Categories', categories.map(({ code }) => code).join(', ')],
    ['Replaces', replacesGuid],
    ['Identifier', guid],
  ] as const
  return {
    title: headline.trim(),
    facts: facts.flatMap(([label, value]) =>
      value === null || value === '' ? [] : [[label, value] as const],
    ),
    sections: headings.map((heading) => ({
      heading,
      paragraphs: Array.from({ length: PARAGRAPHS_A_SECTION }, paragraph),
    })),
  }
}
