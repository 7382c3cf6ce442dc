/**
 * Defines as zod schemas what upstream sends: announcements, exchange references and `meta.paging` (upstream specification
 * §2). Unknown members and unknown values of enumerations pass.
 */
import { z } from 'zod'

const text = z.string()
const nullableText = text.nullable().optional()

/** Specification §2.2 to §2.4. */
const company = z.looseObject({
  name: text,
  lei: text.optional(),
  instrument: z.looseObject({ isin: text, symbol: z.looseObject({ mnemonic: text }).optional() }).optional(),
})

/** An announcement, DisclosureItem of specification §2.1. The live service breaks this schema at times: `version: null`. */
export const itemSchema = z.looseObject({
  rnsId: text,
  timestamp: text,
  /** `RNS`. */
  source: text,
  guid: text,
  version: z.int(),
  issuer: company,
  related: z.array(company).optional(),
  headline: text,
  category: z.array(
    z.looseObject({
      /** `FCA`, or the service's own kind. */
      kind: text,
      code: text,
      name: text,
      description: text.optional(),
      /** `low`, `medium`, `high` or `ultra`. */
      importance: text.optional(),
    }),
  ),
  publication: z.array(z.looseObject({ mime: text, url: text })),
  derivatives: z.looseObject({ semanticHtml: z.looseObject({ url: text }).optional() }).optional(),
  replaces: z.looseObject({ guid: text, version: z.int() }).optional(),
})

/** An announcement with every member of the specification. */
export type UpstreamItem = z.infer<typeof itemSchema>

/** A MIC is a path segment and a table key here, so other characters are refused; those of ISO 10383 have four characters. */
const mic = text.regex(/^[A-Za-z0-9]{1,12}$/)

/** An entry of the list of exchanges, specification §2.9. */
export const exchangeEntrySchema = z.looseObject({
  mic,
  name: nullableText.catch(null),
  country: nullableText.catch(null),
  city: nullableText.catch(null),
  /** `ACTIVE`, `UPDATED` or `EXPIRED`. */
  status: nullableText.catch(null),
  comments: nullableText.catch(null),
})

/** One exchange, specification §2.10 and §2.11. Days are `YYYY-MM-DD`. */
export const exchangeSchema = exchangeEntrySchema.extend({
  abbreviation: nullableText.catch(null),
  website: nullableText.catch(null),
  creationDate: nullableText.catch(null),
  lastUpdateDate: nullableText.catch(null),
  expiryDate: nullableText.catch(null),
  segments: z
    .array(z.looseObject({ mic: text, name: nullableText, status: nullableText }))
    .optional()
    .catch(undefined),
  _links: z.looseObject({ self: text }).optional().catch(undefined),
})

/** An entry of the list of exchanges. */
export type ExchangeEntry = z.infer<typeof exchangeEntrySchema>
/** One exchange. */
export type Exchange = z.infer<typeof exchangeSchema>

/** Longest cursor that is kept: it has to fit into the line of a request. A longer one counts as absent. */
export const LONGEST_CURSOR = 4096
const cursor = text.min(1).max(LONGEST_CURSOR)
const figure = z.int().optional().catch(undefined)

/** `meta.paging` in any of its three shapes (specification §2.12). A member of another type counts as absent. */
export const pagingSchema = z.object({
  pageSize: figure,
  /** Of the next page; null at the end. */
  nextCursor: cursor.nullable().optional().catch(undefined),
  latestCursor: cursor.optional().catch(undefined),
  pageNumber: figure,
  pageTotal: figure,
  itemTotal: figure,
  count: figure,
  hasMore: z.boolean().optional().catch(undefined),
})

/** The figures of `meta.paging`; absent ones are undefined. */
export type PagingFigures = Omit<z.infer<typeof pagingSchema>, 'nextCursor' | 'latestCursor' | 'hasMore'>
