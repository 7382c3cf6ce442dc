/**
 * Converts zod schemas to JSON Schema (2020-12) for the OpenAPI and AsyncAPI documents. Objects may have further
 * members, except where the zod object is strict.
 */
import { z } from 'zod'

/** What is wrong with a member that is not there. */
export const MISSING = 'is missing; it is required'

/** A schema as the documents show it. */
export interface JsonSchema {
  description?: string
  properties?: Readonly<Record<string, JsonSchema>>
  required?: readonly string[]
  [keyword: string]: unknown
}

/** A moment as ISO 8601. */
export function isoTime(description: string) {
  return z.string().meta({ description, format: 'date-time' })
}

/** An object that is described elsewhere. */
export const anyObject = z.unknown().meta({ type: 'object' })

/** Bounds of a whole number, both included, with the value where none is given. */
export interface Range {
  low: number
  high: number
  otherwise: number
}

/** A whole number in a range. `what` it is, and `more` of it, for the docs. */
export function ranged({ low, high, otherwise }: Range, what: string, more = '.') {
  const rule = mustBe(`must be a whole number from ${low} to ${high}`)
  const description = `${what}, ${low}–${high}, default ${otherwise}${more}`
  return z.int(rule).min(low, rule).max(high, rule).default(otherwise).describe(description)
}

/** The error of a zod schema: this sentence, or that the value is missing. */
export function mustBe(message: string) {
  return { error: ({ input }: { input?: unknown }) => (input === undefined ? MISSING : message) }
}

/** The JSON Schema of a value before defaults are filled in. A schema with an `id` is a reference to the shared one. */
export function jsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _dialect, $defs, ...own } = written(schema)
  return own
}

/** These schemas and all that they refer to, by `id`. */
export function sharedSchemas(...schemas: readonly z.ZodType[]): Record<string, JsonSchema> {
  return Object.assign({}, ...schemas.map((schema) => written(schema).$defs))
}

function written(schema: z.ZodType): JsonSchema & { $defs?: Record<string, JsonSchema> } {
  const made = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => simplify(jsonSchema),
  })
  return JSON.parse(JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/'))
}

/** Writes `type: [x, "null"]` for a choice of one plain type and null, and drops bounds that every integer has. */
function simplify(schema: z.core.JSONSchema.BaseSchema): void {
  const [plain, nothing, ...more] = schema.anyOf ?? []
  if (nothing?.type === 'null' && more.length === 0 && typeof plain?.type === 'string') {
    const { type, enum: words, ...rest } = plain
    delete schema.anyOf
    Object.assign(schema, rest, { type: [type, 'null'], ...(words && { enum: [...words, null] }) })
  }
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  delete schema.propertyNames
}
