/**
 * Parses the bodies of `POST /v1/webhooks` and `PATCH /v1/webhooks/{id}` with zod objects, from which `/openapi.json`
 * is made too.
 */
import { z } from 'zod'
import type { EndpointStatus } from '../../core/endpoint-status.ts'
import { webhookKinds } from '../../core/filter/filter.ts'
import { parseFilter } from '../../core/filter/filter-parse.ts'
import { oneOf, plainText, readBody } from '../../http/read-body.ts'
import { unreadFilter } from '../../http/schemas/filter-schema.ts'
import { mustBe, ranged } from '../../http/schemas/json-schema.ts'
import { BATCH, endpointOrders, MAX_CONCURRENCY } from '../../registry/endpoint-rows.ts'
import type { EndpointChange } from '../../registry/endpoints.ts'
import { judgeUrl, LONGEST_URL, operatorMessage } from '../address/judge-url.ts'
import type { AddressRules } from '../address/rules.ts'
import { CUSTOM_HEADERS_RULE, customHeaders } from './custom-headers.ts'
import { sinceText } from './endpoint-start.ts'

/** Largest body, bytes: ten thousand LEIs are 230 KB. */
export const MAX_ENDPOINT_BODY_BYTES = 256 * 1024
const LONGEST_DESCRIPTION = 200
const CONCURRENCY = { low: 1, high: MAX_CONCURRENCY, otherwise: 8 }
/** Deliveries a second. */
const RATES = { low: 0.01, high: 1000 }

const OWNER_STATUSES = ['active', 'paused'] as const satisfies readonly EndpointStatus[]

const urlRule = mustBe('must be a URL such as https://hooks.example/path')
const batchRule = mustBe(`must be a whole number from ${BATCH.low} to ${BATCH.high}, or null`)
const rateRule = mustBe(`must be a number from ${RATES.low} to ${RATES.high}, or null`)

/** The members that both bodies have. `url` is checked by the address rules. */
function sharedMembers(rules: AddressRules, isOperator: boolean) {
  return {
    url: z
      .string(urlRule)
      .refine((text) => text.isWellFormed(), { ...urlRule, abort: true })
      .transform((text, context) => {
        const verdict = judgeUrl(text, rules)
        if (verdict.kind === 'ok') return verdict.target.url
        const message = isOperator ? operatorMessage(verdict, rules) : verdict.message
        context.addIssue({ code: 'custom', message })
        return z.NEVER
      })
      .meta({
        description: 'Where to post; [which URLs are taken](webhooks-addresses.md).',
        maxLength: LONGEST_URL,
      }),
    description: plainText(LONGEST_DESCRIPTION)
      .describe(`What it is for, 1–${LONGEST_DESCRIPTION} characters, or null.`)
      .nullable(),
    filter: unreadFilter.describe(
      'Which events, see [filters.md](filters.md); without it every disclosure. Gap events and notifications about other endpoints come only where `types` names them.',
    ),
    headers: customHeaders.describe(`Headers to send besides, as an object: ${CUSTOM_HEADERS_RULE}.`),
    maxConcurrency: ranged(CONCURRENCY, 'Most deliveries at a time'),
    rateLimit: z
      .number(rateRule)
      .min(RATES.low, rateRule)
      .max(RATES.high, rateRule)
      .describe(
        `Most deliveries a second, ${RATES.low}–${RATES.high}, or batches of them, at even distances; null, the default: as many as it takes.`,
      )
      .nullable(),
    order: oneOf(endpointOrders)
      .default('none')
      .describe(
        '`none`, the default, or `issuer`: the events of one issuer (`subject`) one after the other, each when the one before is decided.',
      ),
    maxBatch: z
      .int(batchRule)
      .min(BATCH.low, batchRule)
      .max(BATCH.high, batchRule)
      .describe(
        `Most events of one request, ${BATCH.low}–${BATCH.high}: every request is a JSON array then. Null, the default: one event each. See [webhooks-batches.md](webhooks-batches.md).`,
      )
      .nullable(),
  }
}

/** The body of `POST`. `nowMs`: ms since 1970. To the operator a refused URL names the setting that allows it. */
export function creationBody(rules: AddressRules, nowMs: number, isOperator = false) {
  const members = sharedMembers(rules, isOperator)
  return z.strictObject({
    ...members,
    description: members.description.optional().transform((text) => text ?? null),
    filter: members.filter.optional(),
    headers: members.headers.optional().transform((own) => own ?? {}),
    rateLimit: members.rateLimit.optional().transform((rate) => rate ?? null),
    maxBatch: members.maxBatch.optional().transform((most) => most ?? undefined),
    since: sinceText(nowMs),
  })
}

/** The body of `PATCH`: a member that is absent stays as it is. */
export function changeBody(rules: AddressRules, isOperator = false) {
  const members = sharedMembers(rules, isOperator)
  return z
    .strictObject({
      ...members,
      maxConcurrency: withoutDefault(members.maxConcurrency),
      order: withoutDefault(members.order),
      status: oneOf(OWNER_STATUSES).describe(
        '`paused`: nothing is sent and its place is kept; `active`: it goes on there, also after it was disabled.',
      ),
    })
    .partial()
}

function withoutDefault<Member extends z.ZodType>(member: z.ZodDefault<Member>): Member {
  return member.unwrap().describe(member.description ?? '')
}

/**
 * The endpoint that a body of `POST` asks for.
 * @throws HttpProblem `body_invalid`, BridgeError `filter_invalid`, each naming everything that is wrong
 */
export function readCreation(body: unknown, rules: AddressRules, nowMs: number, isOperator: boolean) {
  const { filter = {}, ...wanted } = readBody(creationBody(rules, nowMs, isOperator), body)
  return { ...wanted, filter: parseFilter(filter, 'filter', webhookKinds) }
}

/**
 * What a body of `PATCH` changes.
 * @throws HttpProblem `body_invalid`, BridgeError `filter_invalid`, each naming everything that is wrong
 */
export function readChange(body: unknown, rules: AddressRules, isOperator: boolean): EndpointChange {
  const { filter, status, maxBatch, ...change } = readBody(changeBody(rules, isOperator), body)
  return {
    // JSON has no undefined: a member that is there has a value.
    ...(change as EndpointChange),
    ...(filter !== undefined && { filter: parseFilter(filter, 'filter', webhookKinds) }),
    ...(maxBatch !== undefined && { maxBatch: maxBatch ?? undefined }),
    ...(status !== undefined && { status, disabledReason: null }),
  }
}
