/**
 * Generates events of the size and distribution of the real feed from a seed: 2,000 issuers, 60 FCA codes, headlines of
 * four words. They are only as realistic as the cost of the store requires.
 */
import type { SeededChance } from '../../src/core/chance.ts'
import { seededChance } from '../../src/core/chance.ts'
import { readDisclosure } from '../../src/core/disclosure.ts'
import type { Committed } from '../../src/core/event.ts'
import { disclosureEvent } from '../../src/core/event.ts'

const ISSUERS = 2000
const WORDS =
  'final results director dealings holding in company net asset value transaction own shares buyback trading update notice agm placing offer interim dividend appointment board change acquisition disposal contract award portfolio'.split(
    ' ',
  )
const NATIVE = 'AA BC CS CU DD DI HO ME RE TU XX'.split(' ')
const FCA = Array.from({ length: 60 }, (_, index) => (index + 400).toString(36).toUpperCase())

/** ISIN of the n-th synthetic issuer (well formed but for its check digit). */
export function syntheticIsin(issuer: number): string {
  return `GB${String(issuer).padStart(10, '0')}`
}

/** Makes the next `count` events of one growing log: sequences, times and guids go on from the last call. */
export function syntheticEvents(seed: number): (count: number) => Committed[] {
  const chance = seededChance(seed)
  let sequence = 0
  let timeMs = Date.UTC(2024, 0, 1)
  return (count) =>
    Array.from({ length: count }, () => {
      sequence += 1
      timeMs += chance.between(0, 60_000)
      return syntheticEvent(chance, sequence, timeMs)
    })
}

function syntheticEvent(chance: SeededChance, sequence: number, timeMs: number): Committed {
  const item = syntheticItem(chance, sequence, timeMs)
  const read = readDisclosure(item)
  if (!read.ok) throw new Error(read.reason)
  const held = { data: JSON.stringify(item), revision: 1, recordedMs: timeMs + 5000, late: false }
  return { ...disclosureEvent(read.disclosure, held), sequence, epoch: 'BenchEpo' }
}

function syntheticItem(chance: SeededChance, sequence: number, timeMs: number): object {
  const rnsId = (100_000_000 + sequence).toString(36).toUpperCase()
  const timestamp = new Date(timeMs).toISOString()
  return {
    rnsId,
    timestamp,
    source: 'RNS',
    guid: `urn:newsml:example.com:${timestamp.slice(0, 10).replaceAll('-', '')}:${rnsId}:1`,
    version: 1,
    issuer: syntheticCompany(chance),
    related: chance.yes(0.15) ? [syntheticCompany(chance)] : [],
    headline: Array.from({ length: 4 }, () => chance.pick(WORDS)).join(' '),
    category: [
      { kind: 'Native', code: chance.pick(NATIVE), name: 'Some category' },
      {
        kind: 'FCA',
        code: chance.pick(FCA),
        name: 'Some category of the regulator',
        description: 'What the regulator says of this category, in a sentence of the usual length',
        importance: chance.pick(['low', 'medium', 'high', 'ultra']),
      },
    ],
    publication: [
      { mime: 'text/html', url: `https://example.com/announcement/${rnsId}` },
      { mime: 'application/pdf', url: `https://example.com/announcement/${rnsId}.pdf` },
    ],
    derivatives: { semanticHtml: { url: `https://example.com/semantic/${rnsId}.html` } },
  }
}

function syntheticCompany(chance: SeededChance): object {
  const issuer = chance.between(0, ISSUERS - 1)
  return {
    name: `Company ${issuer} plc`,
    lei: `2138${String(issuer).padStart(16, '0')}`,
    instrument: {
      isin: syntheticIsin(issuer),
      symbol: { mnemonic: (issuer + 1300).toString(36).toUpperCase() },
    },
  }
}
