/**
 * Validates real responses against the schemas of a document. A member that the document does not name is an error,
 * except inside upstream's own data.
 */
import * as z from 'zod'
import type { OpenApi } from './openapi-shape.ts'

/** Upstream may add any members to these. */
const UPSTREAM = ['Disclosure', 'Company', 'Category']

/** The errors of a value under a schema of the document; none if it matches. */
export function misfits(document: OpenApi, schema: unknown, value: unknown): string[] {
  const shared = Object.entries(document.components.schemas).map(([name, own]) => [
    name,
    UPSTREAM.includes(name) ? own : strict(own),
  ])
  const whole = JSON.stringify({ ...(strict(schema) as object), $defs: Object.fromEntries(shared) })
  const read = z.fromJSONSchema(JSON.parse(whole.replaceAll('#/components/schemas/', '#/$defs/')))
  const { error } = read.safeParse(value)
  return error === undefined ? [] : [z.prettifyError(error)]
}

/** The schema with every object closed whose members it names. */
function strict(schema: unknown): unknown {
  if (schema === null || typeof schema !== 'object') return schema
  if (Array.isArray(schema)) return schema.map(strict)
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, strict(value)]))
  const isOpen = 'properties' in inner && 'type' in inner && !('additionalProperties' in inner)
  return isOpen ? { ...inner, additionalProperties: false } : inner
}
