/**
 * Lists the schemas that the OpenAPI and AsyncAPI documents refer to by name. Defines two of them: the error bodies of
 * the bridge's own API and of `/v2`.
 */
import { z } from 'zod'
import { type ProblemCode, problemCodes } from './problem.ts'
import { eventSchema } from './schemas/event-schema.ts'
import { filterSchema } from './schemas/filter-schema.ts'
import { type JsonSchema, sharedSchemas } from './schemas/json-schema.ts'

/** The body of an error answer. */
export const problemSchema = z
  .object({
    type: z.string().describe('`urn:disclosure-bridge:problem:<code>`.'),
    title: z.string().describe('The code in words.'),
    status: z.int().describe('The status of the answer.'),
    detail: z.string().describe('What is wrong with this request.'),
    code: z.enum(Object.keys(problemCodes) as ProblemCode[]).describe('One of a closed list.'),
    errors: z
      .array(
        z.object({
          field: z.string().describe('Where.'),
          message: z.string().describe('What, with the near match.'),
        }),
      )
      .describe('Each wrong field; empty where none is to blame.'),
    oldest: z
      .string()
      .optional()
      .describe('Of `cursor_too_old`: the earliest cursor that reading can start over from.'),
  })
  .meta({ id: 'Problem', description: 'An error (RFC 9457).' })

/** The body of an error answer below `/v2`. */
export const upstreamErrorSchema = z
  .object({
    error: z.object({
      message: z.string().describe('What is wrong.'),
      hint: z.string().optional().describe('What to do about it.'),
    }),
  })
  .meta({ id: 'UpstreamError', description: 'An error in the form of the upstream API.' })

/** What events, items and filters refer to, by name. */
export const eventSchemas: Readonly<Record<string, JsonSchema>> = sharedSchemas(eventSchema, filterSchema)

/** The same with the error bodies. */
export const httpSchemas: Readonly<Record<string, JsonSchema>> = {
  ...eventSchemas,
  ...sharedSchemas(problemSchema, upstreamErrorSchema),
}
