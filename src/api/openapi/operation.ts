/**
 * Builds the OpenAPI operation of one route: parameters, body, responses and errors.
 */
import { type ProblemCode, problemCodes } from '../../http/problem.ts'
import { RATE_HEADERS } from '../../http/rate-limits.ts'
import {
  type AnyRoute,
  type Described,
  meaningOf,
  type RouteAnswer,
  type RouteBody,
} from '../../http/route.ts'
import { filterParameterSchemas, filterSchema } from '../../http/schemas/filter-schema.ts'
import { type JsonSchema, jsonSchema } from '../../http/schemas/json-schema.ts'
import { problemSchema } from '../../http/shared-schemas.ts'
import { operationId, pagesByName, pathParameters, tagOf, titleOf } from './words.ts'

/** Any object of the document. */
export type OpenApiPart = Readonly<Record<string, unknown>>

/** One method on one path. */
export type Operation = OpenApiPart & { readonly tags: readonly string[] }

/** What every answer may be, whatever the route. */
const ALWAYS: readonly ProblemCode[] = [
  'parameter_invalid',
  'url_malformed',
  'request_malformed',
  'request_timeout',
  'url_too_long',
  'body_too_large',
  'headers_too_large',
  'rate_limited',
  'internal',
]

/** What is always answered with `Retry-After`. */
const RETRIED: readonly ProblemCode[] = ['too_many', 'rate_limited', 'over_capacity', 'unavailable']

/** What the headers of a rate mean; every answer has them where its client has one. */
const RATE_MEANINGS: Readonly<Record<(typeof RATE_HEADERS)[number], string>> = {
  'RateLimit-Limit': 'Requests that may be sent at once.',
  'RateLimit-Remaining': 'How many of them are left.',
  'RateLimit-Reset': 'Seconds until all of them are back.',
  'RateLimit-Policy': 'The limit with the seconds in which it comes back, e.g. `4000;w=20`.',
}

/** The headers of a rate, for the answers that point to them. */
export const sharedHeaders: OpenApiPart = Object.fromEntries(
  RATE_HEADERS.map((name) => [
    name,
    {
      description: RATE_MEANINGS[name],
      schema: { type: name === 'RateLimit-Policy' ? 'string' : 'integer' },
    },
  ]),
)

/** Points to them. */
export const rateHeaders: OpenApiPart = Object.fromEntries(
  RATE_HEADERS.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
)

/** When to come back. */
export const retryAfter: OpenApiPart = {
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } },
}

/** The operation of a route. */
export function operationOf(route: AnyRoute): Operation {
  const { method, path, summary, parameters, headers = {}, body, answers } = route
  return {
    operationId: operationId(method, path),
    tags: [tagOf(path)],
    summary: titleOf(summary),
    description: pagesByName(summary),
    security: securityOf(route),
    parameters: [
      ...pathParameters(path),
      ...described(parameters, 'query'),
      ...described(headers, 'header'),
      ...(route.takesFilter === true ? filterParameters() : []),
    ],
    ...(body === undefined ? {} : { requestBody: requestBody(body) }),
    responses: Object.fromEntries([
      ...Object.entries(answers).map(([status, answer]) => [status, answerOf(answer)]),
      ...[...problemsOf(route)].map(([status, codes]) => [
        status,
        { $ref: `#/components/responses/${responseName(codes)}` },
      ]),
    ]),
  }
}

/**
 * A token with the scope (none: any token will do), or the session of such a token where the route takes one. A token may
 * be missing in the header of a route that looks for one in the body too.
 */
function securityOf(route: AnyRoute): OpenApiPart[] {
  if (route.scope === 'open') return route.takesToken === true ? [{ bearer: [] }, {}] : []
  const session = route.identify === undefined ? [{ session: [] }] : []
  return [{ bearer: route.scope === null ? [] : [route.scope] }, ...session]
}

/** Parameters in the place `where`; one without a form is text. */
export function described(
  parameters: Readonly<Record<string, Described>>,
  where: 'query' | 'header',
): OpenApiPart[] {
  return Object.entries(parameters).map(([name, parameter]) => {
    const { description: _said, ...schema } =
      typeof parameter === 'string' ? { type: 'string' as const } : jsonSchema(parameter)
    return {
      name,
      in: where,
      description: pagesByName(meaningOf(parameter)),
      // A list of upstream's is its name repeated.
      ...(where === 'query' && schema.type === 'array' ? { style: 'form', explode: true } : {}),
      schema,
    }
  })
}

/** The fields of a filter in their query-string form, and the whole filter as JSON in its place. */
function filterParameters(): OpenApiPart[] {
  const fields = described(filterParameterSchemas, 'query').map((field) =>
    // Lists come with commas or repeated; the first is the shorter.
    'explode' in field ? { ...field, explode: false } : field,
  )
  const whole = {
    name: 'filter',
    in: 'query',
    description: 'The whole filter as JSON; excludes the other filter fields.',
    content: { 'application/json': { schema: jsonSchema(filterSchema) } },
  }
  return [...fields, whole]
}

function requestBody({ schema: body, maxBytes, isOptional }: RouteBody): OpenApiPart {
  const { properties, ...schema } = jsonSchema(body)
  return {
    description: `At most ${maxBytes} bytes.`,
    required: isOptional !== true,
    content: { 'application/json': { schema: { ...schema, properties: withPages(properties) } } },
  }
}

function withPages(members: Readonly<Record<string, JsonSchema>> = {}): OpenApiPart {
  return Object.fromEntries(
    Object.entries(members).map(([name, { description = '', ...schema }]) => [
      name,
      { ...schema, description: pagesByName(description) },
    ]),
  )
}

function answerOf({
  meaning,
  schema,
  mediaType = 'application/json',
  headers = {},
}: RouteAnswer): OpenApiPart {
  const named = Object.entries(headers).map(([name, description]) => [
    name,
    { description: pagesByName(description), schema: { type: 'string' } },
  ])
  return {
    description: pagesByName(meaning),
    headers: { ...Object.fromEntries(named), ...rateHeaders },
    ...(schema === undefined ? {} : { content: { [mediaType]: { schema: jsonSchema(schema) } } }),
  }
}

/** Every code that the route may answer with, itself or before it is reached, by status. */
function problemsOf({ scope, path, body, takesFilter, problems = [] }: AnyRoute): Map<number, ProblemCode[]> {
  const codes: ProblemCode[] = [...ALWAYS, ...problems]
  if (scope !== 'open') codes.push('unauthorised', 'forbidden', 'unavailable')
  if (path.includes('{')) codes.push('not_found')
  if (takesFilter === true) codes.push('filter_invalid')
  if (body === undefined) codes.push('body_unexpected')
  else codes.push('body_malformed', 'body_invalid', 'media_type_unsupported', 'too_many', 'over_capacity')
  const inOrder = (Object.keys(problemCodes) as ProblemCode[]).filter((code) => codes.includes(code))
  return Map.groupBy(inOrder, (code) => problemCodes[code][0])
}

/** The answers that the operations of these routes point to. */
export function sharedResponses(routes: readonly AnyRoute[]): OpenApiPart {
  const groups = routes.flatMap((route) => [...problemsOf(route).values()])
  return Object.fromEntries(groups.map((codes) => [responseName(codes), problemResponse(codes)]))
}

/** Names the answer that these codes share. */
function responseName(codes: readonly ProblemCode[]): string {
  return codes.join('.')
}

function problemResponse(codes: readonly ProblemCode[]): OpenApiPart {
  const lines = codes.map((code) => `\`${code}\`: ${problemCodes[code][2]}`)
  const headers = {
    ...(codes.some((code) => RETRIED.includes(code)) ? retryAfter : {}),
    ...(codes.includes('rate_limited') ? rateHeaders : {}),
  }
  return {
    description: lines.join(' '),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    content: {
      'application/problem+json': {
        schema: { allOf: [jsonSchema(problemSchema), { properties: { code: { enum: codes } } }] },
      },
    },
  }
}
