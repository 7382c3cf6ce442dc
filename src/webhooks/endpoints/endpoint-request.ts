/**
 * The bodies of `POST /v1/webhooks` and `PATCH /v1/webhooks/{id}`, read strictly. Owns their grammar and bounds. Refuses to
 * decide who may change what, and to keep anything.
 */
import type { EndpointStatus } from '../../core/endpoint-status.ts'
import type { Filter } from '../../core/filter/filter.ts'
import { webhookKinds } from '../../core/filter/filter.ts'
import { parseFilter } from '../../core/filter/filter-parse.ts'
import { didYouMean } from '../../core/near.ts'
import { type Members, openMembers } from '../../http/members.ts'
import type { Described } from '../../http/route.ts'
import { ranged, ref } from '../../http/schemas/json-schema.ts'
import { type EndpointOrder, endpointOrders, MAX_CONCURRENCY } from '../../registry/endpoint-rows.ts'
import type { EndpointChange } from '../../registry/endpoints.ts'
import { judgeUrl, LONGEST_URL } from '../address/judge-url.ts'
import type { AddressRules } from '../address/rules.ts'
import { CUSTOM_HEADERS_RULE, readCustomHeaders } from './custom-headers.ts'
import { readSince, type Since } from './endpoint-start.ts'

/** Largest body, bytes: ten thousand LEIs are 230 KB. */
export const MAX_ENDPOINT_BODY_BYTES = 256 * 1024
const LONGEST_DESCRIPTION = 200
const CONCURRENCY = { low: 1, high: MAX_CONCURRENCY, otherwise: 8 }
/** Deliveries a second. */
const RATES = { low: 0.01, high: 1000 }
const OWNER_STATUSES = ['active', 'paused'] as const satisfies readonly EndpointStatus[]

/** The members that both bodies have, with their meanings for the docs. */
const sharedMembers = {
  url: {
    meaning: 'Where to post; [which URLs are taken](webhooks-addresses.md).',
    schema: { type: 'string', maxLength: LONGEST_URL },
  },
  description: {
    meaning: `What it is for, 1–${LONGEST_DESCRIPTION} characters, or null.`,
    schema: { type: ['string', 'null'], minLength: 1, maxLength: LONGEST_DESCRIPTION },
  },
  filter: {
    meaning:
      'Which events, see [filters.md](filters.md); without it every disclosure. Gap events and `webhook.disabled` come only where `types` names them.',
    schema: ref('Filter'),
  },
  headers: {
    meaning: `Headers to send besides, as an object: ${CUSTOM_HEADERS_RULE}.`,
    schema: { type: 'object', additionalProperties: { type: 'string' } },
  },
  maxConcurrency: {
    meaning: `Most deliveries at a time, ${CONCURRENCY.low}–${CONCURRENCY.high}, default ${CONCURRENCY.otherwise}.`,
    schema: ranged(CONCURRENCY),
  },
  rateLimit: {
    meaning: `Most deliveries a second, ${RATES.low}–${RATES.high}; null, the default: as many as it takes.`,
    schema: { type: ['number', 'null'], minimum: RATES.low, maximum: RATES.high },
  },
  order: {
    meaning:
      '`none`, the default, or `issuer`: the events of one issuer (`subject`) one after the other, each when the one before is decided.',
    schema: { type: 'string', enum: endpointOrders, default: 'none' },
  },
} as const satisfies Record<string, Described>

/** Those of `POST`. */
export const creationMembers = {
  ...sharedMembers,
  url: { ...sharedMembers.url, required: true },
  since: {
    meaning: 'Cursor after which, or time from which on, deliveries begin; default: now.',
    schema: { type: 'string' },
  },
} as const satisfies Record<string, Described>

/** Those of `PATCH`. */
export const changeMembers = {
  ...sharedMembers,
  status: {
    meaning:
      '`paused`: nothing is sent and its place is kept; `active`: it goes on there, also after it was disabled.',
    schema: { type: 'string', enum: OWNER_STATUSES },
  },
} as const satisfies Record<string, Described>

/** What a body of `POST` asks for. */
export interface EndpointRequest {
  url: string
  description: string | null
  filter: Filter
  headers: Readonly<Record<string, string>>
  maxConcurrency: number
  rateLimit: number | null
  order: EndpointOrder
  since: Since
}

/**
 * The endpoint that a body of `POST` asks for.
 * @throws HttpProblem `body_invalid`, BridgeError `filter_invalid`, each naming everything that is wrong
 */
export function readCreation(body: unknown, rules: AddressRules, nowMs: number): EndpointRequest {
  const members = openMembers(body, Object.keys(creationMembers))
  members.required('url')
  const { filter = {}, ...wanted } = readShared(members, rules)
  const since = readSince(members, nowMs)
  members.check()
  return {
    url: '',
    description: null,
    headers: {},
    maxConcurrency: CONCURRENCY.otherwise,
    rateLimit: null,
    order: 'none',
    ...wanted,
    filter: parseFilter(filter, 'filter', webhookKinds),
    since,
  }
}

/**
 * What a body of `PATCH` changes; a member that is absent stays as it is.
 * @throws HttpProblem `body_invalid`, BridgeError `filter_invalid`, each naming everything that is wrong
 */
export function readChange(body: unknown, rules: AddressRules): EndpointChange {
  const members = openMembers(body, Object.keys(changeMembers))
  const { filter, ...change } = readShared(members, rules)
  const status = readWord(members, 'status', OWNER_STATUSES)
  members.check()
  return {
    ...change,
    ...(filter !== undefined && { filter: parseFilter(filter, 'filter', webhookKinds) }),
    ...(status !== undefined && { status, disabledReason: null }),
  }
}

/** The shared members that are there; the filter is not judged yet. */
function readShared(
  members: Members,
  rules: AddressRules,
): Omit<EndpointChange, 'filter'> & { filter?: unknown } {
  const has = (name: string): boolean => members.optional(name) !== undefined
  const order = readWord(members, 'order', endpointOrders)
  return {
    ...(has('url') && { url: readUrl(members, rules) }),
    ...(has('description') && { description: readDescription(members) }),
    ...(has('filter') && { filter: members.optional('filter') }),
    ...(has('headers') && { headers: readHeaders(members) }),
    ...(has('maxConcurrency') && { maxConcurrency: members.integer('maxConcurrency', CONCURRENCY) }),
    ...(has('rateLimit') && { rateLimit: readRate(members) }),
    ...(order !== undefined && { order }),
  }
}

function readUrl(members: Members, rules: AddressRules): string {
  const text = members.optional('url')
  if (typeof text !== 'string' || !text.isWellFormed()) {
    members.refuse('url', 'must be a URL such as https://hooks.example/path')
    return ''
  }
  const verdict = judgeUrl(text, rules)
  if (verdict.kind === 'ok') return verdict.target.url
  members.refuse('url', verdict.message)
  return ''
}

function readDescription(members: Members): string | null {
  return members.optional('description') === null ? null : members.text('description', LONGEST_DESCRIPTION)
}

function readHeaders(members: Members): Record<string, string> {
  const { headers, errors } = readCustomHeaders(members.optional('headers'))
  for (const { field, message } of errors) members.refuse(field, message)
  return headers
}

function readRate(members: Members): number | null {
  const rate = members.optional('rateLimit')
  if (rate === null) return null
  if (typeof rate === 'number' && rate >= RATES.low && rate <= RATES.high) return rate
  members.refuse('rateLimit', `must be a number from ${RATES.low} to ${RATES.high}, or null`)
  return null
}

function readWord<const W extends string>(
  members: Members,
  name: string,
  words: readonly W[],
): W | undefined {
  const text = members.optional(name)
  const word = words.find((candidate) => candidate === text)
  if (text === undefined || word !== undefined) return word
  const near = typeof text === 'string' ? didYouMean(text.slice(0, 40), words) : ''
  members.refuse(name, `must be one of ${words.join(', ')}${near}`)
  return undefined
}
