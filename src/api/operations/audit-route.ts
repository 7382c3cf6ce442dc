/**
 * Serves `GET /v1/audit`: who changed what, the newest first. The admin of a tenant sees changes of what belongs to the
 * tenant, the operator all.
 */
import { z } from 'zod'
import type { AuditEntry } from '../../audit/audit-rows.ts'
import type { AuditTrail } from '../../audit/audit-trail.ts'
import { isoMillis } from '../../core/dates.ts'
import { didYouMean } from '../../core/near.ts'
import { auditActionNames, auditOutcomes } from '../../http/audit/audit-actions.ts'
import { FEWER_COME, fittingEntries, pageOf, pageParameters, readPageParameters } from '../../http/page.ts'
import type { Query } from '../../http/parameters.ts'
import { type Call, type Route, sendJson } from '../../http/route.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import { isId } from '../../registry/ids.ts'

const facts = z.record(z.string(), z.unknown())

const entrySchema = z.object({
  id: z.string().meta({ description: 'Names the entry.', pattern: '^aud_' }),
  at: isoTime('When it was asked for.'),
  action: z.string().describe('What was done, e.g. `token.created`; more may come.'),
  outcome: z
    .enum(auditOutcomes)
    .describe(
      '`done`; `failed`: nothing changed; `unknown`: it is being done, or the process ended or lost the log before it knew.',
    ),
  code: z.string().describe('Why it failed: the `code` of the answer; else null.').nullable(),
  actor: z
    .object({
      token: z.string().describe('Id of the token; `settings` is `BRIDGE_ADMIN_TOKEN`.'),
      name: z.string().describe('Its name at that time.').nullable(),
      tenant: z.string().describe('Its tenant.'),
      session: z.string().describe('The session of a browser; null where the token was sent.').nullable(),
    })
    .describe('Who asked for it.'),
  address: z
    .string()
    .describe(
      'The client address, of IPv6 the network of 64 bits, behind proxies as `BRIDGE_TRUSTED_PROXIES` says; null where it is not known. To a tenant that of the operator is null.',
    )
    .nullable(),
  requestId: z
    .string()
    .describe(
      'The header `X-Request-Id` of the request, 1 to 128 printable characters without blanks; null where it had none.',
    )
    .nullable(),
  target: z.string().describe('Id of what was changed; null where it has none.').nullable(),
  tenant: z.string().describe('Whose that is; null: of the whole bridge.').nullable(),
  before: facts.describe('The members that changed, as they were. Secrets are `[hidden]`.'),
  after: facts.describe('The members that changed, as they are.'),
})

type ShownEntry = z.infer<typeof entrySchema>

/** The route. */
export function auditRoute(trail: Pick<AuditTrail, 'list'>): Route {
  return {
    method: 'GET',
    path: '/v1/audit',
    scope: 'admin',
    summary:
      'Who changed what, from where and when, the newest first. Changes of what belongs to the tenant; all with `BRIDGE_ADMIN_TOKEN`. An entry is listed a moment after the answer to its request. See [audit.md](../run/audit.md).',
    parameters: {
      ...pageParameters('entries', FEWER_COME),
      actor: 'Only changes by the token of this id; `settings` is `BRIDGE_ADMIN_TOKEN`.',
      action: 'Only this action, e.g. `token.created`.',
      target: 'Only changes of what has this id.',
      since: 'Only from this date or time on.',
      until: 'Only up to this date or time.',
    },
    answers: { 200: { meaning: 'A page of entries.', schema: pageOf(entrySchema) } },
    problems: ['unavailable'],
    handle: async (call) => list(call, trail),
  }
}

function list({ query, caller, response }: Call, trail: Pick<AuditTrail, 'list'>): void {
  const { after: before, limit } = readPageParameters(query, (text) => (isId('aud', text) ? text : null))
  const actor = query.text('actor')
  const action = actionOf(query)
  const target = query.text('target')
  const sinceMs = query.timeMs('since')
  const untilMs = query.time('until')?.toMs ?? null
  query.check()
  const tenant = caller.seesAllTenants ? null : caller.tenant
  const found = trail.list({ tenant, actor, action, target, sinceMs, untilMs, before, limit: limit + 1 })
  const shown = found.slice(0, limit).map((entry) => shownEntry(entry, caller.seesAllTenants))
  const data = fittingEntries(shown)
  const next = found.length > data.length ? (shown[data.length - 1]?.id ?? null) : null
  sendJson(response, 200, Buffer.from(`{"data":[${data.join(',')}],"next":${JSON.stringify(next)}}`))
}

function actionOf(query: Query): string | null {
  const text = query.text('action')
  if (text !== null && !auditActionNames.some((name) => name === text))
    query.refuse('action', `is no action${didYouMean(text, auditActionNames)}; docs/run/audit.md lists them`)
  return text
}

/** A tenant learns that the operator acted, not from where. */
function shownEntry(entry: AuditEntry, seesAll: boolean): ShownEntry {
  const { id, atMs, action, outcome, code, actor, isOperator, target, tenant, before, after } = entry
  const mayTrace = seesAll || !isOperator
  return {
    id,
    at: isoMillis(atMs),
    action,
    outcome,
    code,
    actor: {
      token: actor.tokenId,
      name: actor.name,
      tenant: actor.tenant,
      session: mayTrace ? actor.sessionId : null,
    },
    address: mayTrace ? entry.address : null,
    requestId: mayTrace ? entry.requestId : null,
    target,
    tenant,
    before,
    after,
  }
}
