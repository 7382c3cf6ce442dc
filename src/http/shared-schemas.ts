/**
 * Every schema that routes share by name. Owns the table, and the two error bodies. Refuses what one route alone uses:
 * that stands at the route.
 */
import { problemCodes } from './problem.ts'
import {
  categorySchema,
  companySchema,
  disclosureSchema,
  eventSchema,
  gapSchema,
} from './schemas/event-schema.ts'
import { filterSchema, plainFilterSchema } from './schemas/filter-schema.ts'
import { type JsonSchema, list, object, type SharedName, text, whole } from './schemas/json-schema.ts'

const problemSchema: JsonSchema = {
  ...object(
    {
      type: text('`urn:disclosure-bridge:problem:<code>`.'),
      title: text('The code in words.'),
      status: whole('The status of the answer.'),
      detail: text('What is wrong with this request.'),
      code: text('One of a closed list.', { enum: Object.keys(problemCodes) }),
      errors: list(object({ field: text('Where.'), message: text('What, with the near match.') }), {
        description: 'Each wrong field; empty where none is to blame.',
      }),
      oldest: text('Of `cursor_too_old`: the earliest cursor that reading can start over from.'),
    },
    ['oldest'],
  ),
  description: 'An error (RFC 9457).',
}

const upstreamErrorSchema: JsonSchema = {
  ...object({
    error: object({ message: text('What is wrong.'), hint: text('What to do about it.') }, ['hint']),
  }),
  description: 'An error in the form of the upstream API.',
}

/** Name to schema. */
export const sharedSchemas: Readonly<Record<SharedName, JsonSchema>> = {
  Event: eventSchema,
  Disclosure: disclosureSchema,
  Company: companySchema,
  Category: categorySchema,
  Gap: gapSchema,
  Filter: filterSchema,
  PlainFilter: plainFilterSchema,
  Problem: problemSchema,
  UpstreamError: upstreamErrorSchema,
}
