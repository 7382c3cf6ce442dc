/** Says of each operation how a test sends it: its path with an id, its body, its credential, and the scope that it needs. */
import { BODIES, NEEDS } from './scopes-needed.ts'
import type { DocumentedOperation } from './whole-product.ts'

/** Ids of these forms never existed. */
export const NEVER = {
  webhooks: 'ep_000000000000000000000',
  tokens: 'tok_000000000000000000000',
  streams: 'str_00000000000000000000000000000001',
}

/** Whether the path is one of the upstream API. */
function isMirror(path: string): boolean {
  return path.startsWith('/v2/')
}

/** The header with that token which the path reads. */
export function credential(path: string, token: string): readonly [string, string] {
  return isMirror(path) ? ['x-api-key', token] : ['authorization', `Bearer ${token}`]
}

/** What the documents say that it needs. */
export function needOf({ name }: DocumentedOperation): string {
  return NEEDS[name] ?? ''
}

/** Whether a token of these scopes may do what needs that. */
export function allows(need: string, scopes: readonly string[]): boolean {
  return need === 'open' || need === 'any' || scopes.includes(need)
}

/** Where an id of a tenant stands in the path; null: nowhere. */
export function collectionOf({ path }: DocumentedOperation): keyof typeof NEVER | null {
  const found = /^\/v1\/(webhooks|tokens|streams)\/\{id\}/.exec(path)?.[1]
  return found === 'webhooks' || found === 'tokens' || found === 'streams' ? found : null
}

/** The path with that id, or with an example of what it takes else; `identifier`: of an item that is held. */
export function pathWith(operation: DocumentedOperation, id: string, identifier: string): string {
  const { path } = operation
  return path
    .replace('{id}', collectionOf(operation) === null ? identifier : id)
    .replace('{replayId}', 'rp_000000000000000000000')
    .replace('{mic}', 'XLON')
    .replace('{identifier}', path.includes('/items/') ? identifier : 'GB00B10RZP78')
}

/** A body with which it succeeds, for that tenant. */
export function bodyOf({ name }: DocumentedOperation, tenant: string): object | undefined {
  const body = BODIES[name]
  return body !== undefined && 'tenant' in body ? { ...body, tenant } : body
}

/** Headers of a request. */
export type Headers = readonly (readonly [string, string])[]

/** Headers with each of these invalid tokens, and with a valid one where the path does not read it. */
export function wrongCredentials(
  path: string,
  invalid: Readonly<Record<string, string>>,
  token: string,
): Record<string, Headers> {
  const [name] = credential(path, '')
  const prefix = isMirror(path) ? '' : 'Bearer '
  return {
    nothing: [],
    ...Object.fromEntries(Object.entries(invalid).map(([who, text]) => [who, [[name, `${prefix}${text}`]]])),
    'a token in the header of the other interface': [
      isMirror(path) ? ['authorization', `Bearer ${token}`] : ['x-api-key', token],
    ],
    'a token as Basic': [['authorization', `Basic ${Buffer.from(`x:${token}`).toString('base64')}`]],
    'a token without a scheme': isMirror(path) ? [] : [['authorization', token]],
    'a token in a cookie': [['cookie', `token=${token}; authorization=Bearer ${token}; x-api-key=${token}`]],
    'a token in the header of a proxy': [
      ['proxy-authorization', `Bearer ${token}`],
      ['x-forwarded-authorization', `Bearer ${token}`],
    ],
  }
}
