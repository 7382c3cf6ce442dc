/**
 * JSON Schema (2020-12) as far as this API describes itself with it: the keywords, short ways to write them, and the
 * names under which schemas are shared. Owns nothing else. Refuses to check values: the readers of each route do.
 */

/** A schema. Members of an object that are not named may occur as well, except where `additionalProperties` says no. */
export interface JsonSchema {
  $ref?: string
  description?: string
  type?: JsonType | readonly JsonType[]
  format?: 'date-time' | 'date' | 'uri'
  enum?: readonly (string | number | null)[]
  const?: string | number | boolean
  default?: string | number | boolean
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  items?: JsonSchema
  minItems?: number
  maxItems?: number
  properties?: Readonly<Record<string, JsonSchema>>
  required?: readonly string[]
  additionalProperties?: boolean | JsonSchema
  oneOf?: readonly JsonSchema[]
  anyOf?: readonly JsonSchema[]
  allOf?: readonly JsonSchema[]
}

type JsonType = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'null'

/** Schemas that several routes share; `shared-schemas.ts` has each of them. */
export const sharedNames = [
  'Event',
  'Disclosure',
  'Company',
  'Category',
  'Gap',
  'Filter',
  'PlainFilter',
  'Problem',
  'UpstreamError',
] as const
export type SharedName = (typeof sharedNames)[number]

/** The shared schema of that name. */
export function ref(name: SharedName): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

/** Text. */
export function text(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: 'string', description, ...more }
}

/** A moment as ISO 8601. */
export function time(description: string): JsonSchema {
  return text(description, { format: 'date-time' })
}

/** One of these words. */
export function oneWord(words: readonly string[], description: string): JsonSchema {
  return text(description, { enum: words })
}

/** A whole number. */
export function whole(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: 'integer', description, ...more }
}

/** A whole number in a range, both ends included, that has a default. */
export function ranged({
  low,
  high,
  otherwise,
}: {
  low: number
  high: number
  otherwise: number
}): JsonSchema {
  return { type: 'integer', minimum: low, maximum: high, default: otherwise }
}

/** A number. */
export function figure(description: string): JsonSchema {
  return { type: 'number', description }
}

/** True or false. */
export function flag(description: string): JsonSchema {
  return { type: 'boolean', description }
}

/** A list. */
export function list(items: JsonSchema, more: JsonSchema = {}): JsonSchema {
  return { type: 'array', items, ...more }
}

/** An object whose members are all there, except the `optional` ones. */
export function object(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) }
}

/** The same, or null. Takes a schema of one type. */
export function orNull(schema: JsonSchema): JsonSchema {
  const { type, enum: words, ...rest } = schema
  if (typeof type !== 'string') throw new TypeError('only a schema of one type can be null too')
  return { ...rest, type: [type, 'null'], ...(words === undefined ? {} : { enum: [...words, null] }) }
}
