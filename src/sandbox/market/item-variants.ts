/**
 * Modifies an item so that it lacks a member, or breaks the upstream's published schema in one of the ways that items of the
 * live service do.
 */

/** A company as `item-json.ts` writes it. */
export interface CompanyJson {
  name?: string
  lei?: string
  instrument?: { isin: string; symbol?: { mnemonic: string } }
}

/** The members of an item that a variant may change; all others pass through. */
export interface ItemJson {
  version: number | null
  issuer: CompanyJson
  headline: string
  category: { kind: string; code: string; name: string; description?: string; importance?: string }[]
  derivatives?: object
}

/** Maximum length of a headline, as on the live service; a truncated one may end in a blank. */
export const LONGEST_HEADLINE = 50

/** Every such change that leaves an item its identity and time. */
export const itemVariants = {
  'null-version': (item) => ({ ...item, version: null }),
  'rns-kind': (item) => ({ ...item, category: [...item.category, { kind: 'RNS', code: 'RN', name: 'RNS' }] }),
  'unknown-importance': (item) => ({
    ...item,
    category: item.category.map((tag) => (tag.kind === 'FCA' ? { ...tag, importance: 'critical' } : tag)),
  }),
  'no-symbol': (item) => ({
    ...item,
    issuer: {
      ...item.issuer,
      ...(item.issuer.instrument === undefined ? {} : { instrument: { isin: item.issuer.instrument.isin } }),
    },
  }),
  'no-lei': ({ issuer: { lei: _, ...issuer }, ...item }) => ({ ...item, issuer }),
  'no-instrument': ({ issuer: { instrument: _, ...issuer }, ...item }) => ({ ...item, issuer }),
  'no-derivatives': ({ derivatives: _, ...item }) => item,
  'no-name': ({ issuer: { name: _, ...issuer }, ...item }) => ({ ...item, issuer }),
  'blank-ended-headline': (item) => ({
    ...item,
    headline: `${item.headline.slice(0, LONGEST_HEADLINE - 2)}  `,
  }),
} as const satisfies Record<string, (item: ItemJson) => ItemJson>

/** Name of a variant. */
export type ItemVariant = keyof typeof itemVariants
