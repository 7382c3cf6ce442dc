/**
 * Builds the OpenAPI operation for one path of the mirrored upstream API, which the bridge serves with the upstream's
 * parameters, responses and error bodies.
 */
import { jsonSchema } from '../../http/schemas/json-schema.ts'
import { upstreamErrorSchema } from '../../http/shared-schemas.ts'
import type { MirrorRoute } from '../mirror/route.ts'
import { described, type Operation, rateHeaders, retryAfter } from './operation.ts'
import { operationId, pathParameters, tagOf, titleOf } from './words.ts'

/** The path below the base address `prefix`, with its parts that differ in braces. */
export function mirroredPath({ path }: Pick<MirrorRoute, 'path'>, prefix: string): string {
  return prefix + path.replace(/:(\w+)/g, '{$1}')
}

/**
 * Its GET. `scopes`: what a key of the bridge must be allowed to do; empty in the description of the upstream API alone,
 * where any key will do and no answer has headers of a rate.
 */
export function mirroredOperation(route: MirrorRoute, prefix: string, scopes: readonly string[]): Operation {
  const path = mirroredPath(route, prefix)
  return {
    operationId: operationId('get', path),
    tags: [`upstream ${tagOf(path)}`],
    summary: titleOf(route.summary),
    description: route.summary,
    security: route.key === 'none' ? [] : [{ upstreamKey: scopes }],
    parameters: [...pathParameters(path), ...described(route.parameters, 'query')],
    responses: {
      200: {
        description: 'As upstream answers.',
        ...(scopes.length === 0 ? {} : { headers: rateHeaders }),
        content: { 'application/json': { schema: jsonSchema(route.schema) } },
      },
      ...Object.fromEntries(
        Object.entries(errorsOf(route, scopes)).map(([status, description]) => [
          status,
          {
            description,
            ...(status === '429'
              ? { headers: { ...retryAfter, ...(scopes.length > 0 && rateHeaders) } }
              : {}),
            content: { 'application/json': { schema: jsonSchema(upstreamErrorSchema) } },
          },
        ]),
      ),
    },
  }
}

const TOO_MANY = 'The key or the address sends too many requests; `Retry-After` says when to come back.'
const NOT_ALLOWED =
  'The key may not do this: its plan has no such data, or at a bridge the token lacks the scope `events:read`.'

function errorsOf(
  { path, key, refusals }: MirrorRoute,
  scopes: readonly string[],
): Readonly<Record<number, string>> {
  const lacking = scopes.map((scope) => `\`${scope}\``).join(', ')
  return {
    400: 'A parameter or cursor is wrong, or there is a body.',
    ...(key === 'none' ? {} : { 401: 'The key is missing or not valid.' }),
    ...(key === 'none' ? {} : { 403: lacking === '' ? NOT_ALLOWED : `The key lacks the scope ${lacking}.` }),
    ...(path.includes(':') ? { 404: 'There is no such resource.' } : {}),
    413: 'There is a body, and a large one.',
    414: 'The address is too long.',
    500: 'A fault inside.',
    503: 'Not now; `Retry-After` says when, where it is there.',
    ...refusals,
    429: [TOO_MANY, refusals?.[429] ?? ''].join(' ').trim(),
  }
}
