/**
 * The filter (contract §5) as JSON Schema, and its query-string form as parameters. Owns their description, a field
 * each, so that a new field of the grammar cannot be left out. Refuses to judge filters: `core/filter/filter-parse.ts` does.
 */
import {
  eventKinds,
  importances,
  matchModes,
  type PlainFilter,
  webhookKinds,
} from '../../core/filter/filter.ts'
import { Q_LENGTHS } from '../../core/filter/filter-fields.ts'
import { CODE_LIMIT, IDENTIFIER_LIMIT, MEMBER_LIMIT } from '../../core/filter/filter-parse.ts'
import { presetNames } from '../../core/filter/presets.ts'
import { flag, type JsonSchema, list, oneWord, ref, text } from './json-schema.ts'

const [SHORTEST_Q, LONGEST_Q] = Q_LENGTHS

/** A list that a query string may write with commas. */
function some(items: JsonSchema, most: number, description: string): JsonSchema {
  return list(items, { minItems: 1, maxItems: most, description })
}

const word: JsonSchema = { type: 'string' }
const levels = some(
  { type: 'string', enum: importances },
  importances.length,
  'Any FCA category of that importance.',
)

const plainFields: Readonly<Record<keyof PlainFilter, JsonSchema>> = {
  isins: some(word, IDENTIFIER_LIMIT, 'ISINs.'),
  symbols: some(word, IDENTIFIER_LIMIT, 'Listing symbols.'),
  leis: some(word, IDENTIFIER_LIMIT, 'LEIs.'),
  match: oneWord(matchModes, 'How identifiers are compared; `issuer` where it is left out.'),
  fcaCategories: some(word, CODE_LIMIT, 'Any FCA category with one of these codes.'),
  nativeCategories: some(word, CODE_LIMIT, "Any of the service's own categories with one of these codes."),
  importance: {
    anyOf: [levels, { type: 'string', pattern: `^(${importances.join('|')})\\+$` }],
    description: 'A list of levels, or one text such as `high+` for that level and those above.',
  },
  q: text('Part of the headline, without case.', { minLength: SHORTEST_Q, maxLength: LONGEST_Q }),
  hasSymbol: flag('Whether the issuer has a listing symbol.'),
  types: some(
    { type: 'string', enum: webhookKinds },
    webhookKinds.length,
    'What the event is; `webhook.disabled` in the filter of a webhook only.',
  ),
  preset: oneWord(presetNames, 'A named filter; docs/filters.md says what each leaves out.'),
}

/** Fields that are ANDed; inside a list, any member does. */
export const plainFilterSchema: JsonSchema = {
  type: 'object',
  properties: plainFields,
  additionalProperties: false,
}

/** A whole filter. */
export const filterSchema: JsonSchema = {
  type: 'object',
  description: 'AND across members, OR inside a list. docs/filters.md has the grammar.',
  properties: {
    ...plainFields,
    exclude: ref('PlainFilter'),
    filters: list(ref('PlainFilter'), { minItems: 1, maxItems: MEMBER_LIMIT, description: 'Any of these.' }),
  },
  additionalProperties: false,
}

/** The query-string form: lists comma-separated or repeated, so `importance` has no text form of its own there. */
export const filterParameterSchemas: Readonly<Record<keyof PlainFilter, JsonSchema>> = {
  ...plainFields,
  types: some({ type: 'string', enum: eventKinds }, eventKinds.length, 'What the event is.'),
  importance: list(word, {
    minItems: 1,
    maxItems: importances.length,
    description: 'Levels, or one such as `high+` for that level and those above.',
  }),
}
