/**
 * Defines the schema of the event filter as JSON and as query parameters, with each field described once.
 * `core/filter/filter-parse.ts` parses filters.
 */
import { z } from 'zod'
import {
  eventKinds,
  importances,
  matchModes,
  type PlainFilter,
  webhookKinds,
} from '../../core/filter/filter.ts'
import { CODE_LIMIT, IDENTIFIER_LIMIT, MEMBER_LIMIT, Q_LENGTHS } from '../../core/filter/filter-parse.ts'
import { presetNames } from '../../core/filter/presets.ts'
import { MISSING } from './json-schema.ts'

const [SHORTEST_Q, LONGEST_Q] = Q_LENGTHS

/** A list that a query string may write with commas. */
function some<Item extends z.ZodType>(items: Item, most: number, description: string) {
  return z.array(items).min(1).max(most).describe(description)
}

const levels = some(z.enum(importances), importances.length, 'Any FCA category of that importance.')
const fromLevel = z.string().regex(new RegExp(`^(${importances.join('|')})\\+$`))

const plainFields = {
  isins: some(z.string(), IDENTIFIER_LIMIT, 'ISINs.'),
  symbols: some(z.string(), IDENTIFIER_LIMIT, 'Listing symbols.'),
  leis: some(z.string(), IDENTIFIER_LIMIT, 'LEIs.'),
  match: z.enum(matchModes).describe('How identifiers are compared; `issuer` where it is left out.'),
  fcaCategories: some(z.string(), CODE_LIMIT, 'Any FCA category with one of these codes.'),
  nativeCategories: some(
    z.string(),
    CODE_LIMIT,
    "Any of the service's own categories with one of these codes.",
  ),
  importance: z
    .union([levels, fromLevel])
    .describe('A list of levels, or one text such as `high+` for that level and those above.'),
  q: z.string().min(SHORTEST_Q).max(LONGEST_Q).describe('Part of the headline, without case.'),
  hasSymbol: z.boolean().describe('Whether the issuer has a listing symbol.'),
  types: some(
    z.enum(webhookKinds),
    webhookKinds.length,
    'What the event is; those that begin with `webhook` in the filter of a webhook only.',
  ),
  preset: z.enum(presetNames).describe('A named filter; docs/use/filters.md says what each leaves out.'),
} as const satisfies Record<keyof PlainFilter, z.ZodType>

/** Fields that are ANDed; inside a list, any member does. */
const plainFilterSchema = z.strictObject(plainFields).partial().meta({ id: 'PlainFilter' })

/** A whole filter. */
export const filterSchema = z
  .strictObject({
    ...plainFilterSchema.shape,
    exclude: plainFilterSchema.optional(),
    filters: some(plainFilterSchema, MEMBER_LIMIT, 'Any of these.').optional(),
  })
  .meta({
    id: 'Filter',
    description: 'AND across members, OR inside a list. docs/use/filters.md has the grammar.',
  })

/** A whole filter that `parseFilter` still has to judge. */
export const unreadFilter = z
  .custom<unknown>((value) => value !== undefined, MISSING)
  .meta({ $ref: '#/components/schemas/Filter' })

/** The query-string form: lists comma-separated or repeated, so `importance` has no text form of its own there. */
export const filterParameterSchemas = {
  ...plainFields,
  types: some(z.enum(eventKinds), eventKinds.length, 'What the event is.'),
  importance: some(
    z.string(),
    importances.length,
    'Levels, or one such as `high+` for that level and those above.',
  ),
} as const satisfies Record<keyof PlainFilter, z.ZodType>
