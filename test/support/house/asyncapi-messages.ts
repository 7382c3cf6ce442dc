/**
 * Validates real messages against the schemas of the AsyncAPI document. A member that the document does not name is an
 * error, except inside upstream's own data.
 */
import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { AsyncApi } from './asyncapi-document.ts'

/** A message as received. */
export interface Given {
  payload: unknown
  /** The documented headers, if the document describes any. */
  headers?: unknown
  /** Of a Kafka record. */
  key?: unknown
}

/** The errors of a message of that channel and name; none if it matches. */
export type Misfits = (channel: string, name: string, given: Given) => string[]

/** Upstream may add any members to these. */
const UPSTREAM = ['Disclosure', 'Company', 'Category']
const ID = 'document'

/** Compiles each schema once, at its first use. */
export function messageJudge(document: AsyncApi): Misfits {
  const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addKeyword('document')
  ajv.addSchema({ $id: ID, document: closed(document) })
  const compiled = new Map<string, ValidateFunction>()
  const judge = (pointer: string, value: unknown): string[] => {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `${ID}#/document/${pointer}` })
    compiled.set(pointer, validate)
    validate(value)
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      [pointer, instancePath, message, JSON.stringify(params)].join(' '),
    )
  }
  return (channel, name, { payload, headers, key }) => {
    const place = `${channel}.${name}`
    const message = document.components.messages[place]
    if (message === undefined) return [`${channel} has no message ${name}`]
    const own = `components/messages/${place}`
    return [
      ...judge(`${own}/payload`, payload),
      ...(message.headers === undefined ? [] : judge(`${own}/headers`, headers)),
      ...(message.bindings?.kafka === undefined ? [] : judge(`${own}/bindings/kafka/key`, key)),
    ]
  }
}

/** The document with its references inside the schema that holds it, and every object closed whose members it names. */
function closed(document: AsyncApi): unknown {
  const { schemas } = document.components
  const upstream = Object.fromEntries(UPSTREAM.map((name) => [name, schemas[name] ?? {}]))
  const strict = close({
    ...document,
    components: { ...document.components, schemas: close(schemas) },
  }) as AsyncApi
  const components = { ...strict.components, schemas: { ...strict.components.schemas, ...upstream } }
  return JSON.parse(
    JSON.stringify({ ...strict, components }).replaceAll('"#/components/', '"#/document/components/'),
  )
}

function close(part: unknown): unknown {
  if (part === null || typeof part !== 'object') return part
  if (Array.isArray(part)) return part.map(close)
  const inner = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, close(value)]))
  const isOpen = inner.type === 'object' && 'properties' in inner && !('additionalProperties' in inner)
  return isOpen ? { ...inner, additionalProperties: false } : inner
}
