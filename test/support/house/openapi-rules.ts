/**
 * Checks an OpenAPI document beyond its shape, each rule a function from the document to violations.
 * `test/api/openapi.test.ts` shows each of them failing and passing.
 */
import type { OpenApi, Operation } from './openapi-shape.ts'

/** One sentence per violation. */
type Breach = string

/** Every operation of a document with its method and path. */
export function operationsOf({ paths }: OpenApi): { method: string; path: string; operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      operation === undefined ? [] : [{ method, path, operation }],
    ),
  )
}

/** Every operation has an id of its own. */
export function doubledIds(document: OpenApi): Breach[] {
  const ids = operationsOf(document).map(({ operation }) => operation.operationId)
  return ids.filter((id, index) => ids.indexOf(id) < index).map((id) => `${id} names two operations`)
}

/** Every reference leads to a component, and every schema, header and response among these is used. */
export function strayReferences(document: OpenApi): Breach[] {
  const used = new Set(strings(document, '$ref'))
  const { schemas, headers = {}, responses } = document.components
  const known = [
    ...Object.keys(schemas).map((name) => `#/components/schemas/${name}`),
    ...Object.keys(headers).map((name) => `#/components/headers/${name}`),
    ...Object.keys(responses).map((name) => `#/components/responses/${name}`),
  ]
  return [
    ...[...used].filter((target) => !known.includes(target)).map((target) => `${target} does not exist`),
    ...known.filter((target) => !used.has(target)).map((target) => `${target} is not used`),
  ]
}

/** The parts of a path that differ are its path parameters, and no parameter is there twice. */
export function wrongParameters(document: OpenApi): Breach[] {
  return operationsOf(document).flatMap(({ method, path, operation }) => {
    const names = operation.parameters.map((own) => `${own.in} ${own.name}`)
    const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `path ${name}`)
    const given = names.filter((name) => name.startsWith('path '))
    return [
      ...wanted.filter((name) => !given.includes(name)).map((name) => `${method} ${path} lacks ${name}`),
      ...given.filter((name) => !wanted.includes(name)).map((name) => `${method} ${path} has no ${name}`),
      ...names
        .filter((name, index) => names.indexOf(name) < index)
        .map((name) => `${method} ${path} has ${name} twice`),
    ]
  })
}

/** Every operation asks for access by a scheme that exists. */
export function unknownAccess(document: OpenApi): Breach[] {
  const known = Object.keys(document.components.securitySchemes)
  return operationsOf(document).flatMap(({ method, path, operation }) =>
    operation.security
      .flatMap((schemes) => Object.keys(schemes))
      .filter((scheme) => !known.includes(scheme))
      .map((scheme) => `${method} ${path}: there is no access by ${scheme}`),
  )
}

/** Every operation documents its success and error responses; 401 and 403 if it needs a token. */
export function missingAnswers(document: OpenApi): Breach[] {
  return operationsOf(document).flatMap(({ method, path, operation }) => {
    const statuses = Object.keys(operation.responses)
    const wanted = ['400', '500', ...(operation.security.length === 0 ? [] : ['401', '403'])]
    const good = statuses.some((status) => /^(101|2)/.test(status))
    return [
      ...(good ? [] : [`${method} ${path} never answers well`]),
      ...wanted
        .filter((status) => !statuses.includes(status))
        .map((status) => `${method} ${path} lacks ${status}`),
    ]
  })
}

/** Members that are required are among the members. */
export function unknownMembers(document: OpenApi): Breach[] {
  return objectsOf(document).flatMap(({ required, properties }) =>
    Array.isArray(required) && properties !== undefined
      ? required
          .filter((name) => !Object.hasOwn(properties as object, name))
          .map((name) => `${name} is required and no member`)
      : [],
  )
}

/** No sentence has a link: readers of the document do not have the docs beside it. */
export function links(document: OpenApi): Breach[] {
  const sentences = [...strings(document, 'description'), ...strings(document, 'summary')]
  return sentences.filter((sentence) => sentence.includes('](')).map((sentence) => `"${sentence}" has a link`)
}

/** Every rule. */
export const openApiRules = [
  doubledIds,
  strayReferences,
  wrongParameters,
  unknownAccess,
  missingAnswers,
  unknownMembers,
  links,
]

/** Every text under that key, anywhere. */
function strings(document: OpenApi, key: string): string[] {
  return objectsOf(document).flatMap((object) => {
    const value = object[key]
    return typeof value === 'string' ? [value] : []
  })
}

/** Every object inside, itself too. */
function objectsOf(value: unknown): Record<string, unknown>[] {
  if (value === null || typeof value !== 'object') return []
  const inner = Object.values(value).flatMap(objectsOf)
  return Array.isArray(value) ? inner : [value as Record<string, unknown>, ...inner]
}
