/**
 * Lists what each operation of the HTTP API needs, as the documents promise it. Tests compare the running product with
 * this table; nothing here is derived from the code.
 */

const READ = 'events:read'
/** Of a token that may do little. */
export const SEE = 'webhooks:read'
const WRITE = 'webhooks:write'
const REPLAY = 'webhooks:replay'
const ADMIN = 'admin'
/** Every scope. */
export const SCOPES = [READ, SEE, WRITE, REPLAY, ADMIN]

/** The scope that each operation needs; `any`: a valid token; `open`: none. An operation that is not here fails the test. */
export const NEEDS: Readonly<Record<string, string>> = {
  'GET /v1/disclosures': READ,
  'GET /v1/disclosures/{id}': READ,
  'GET /v1/disclosures/{id}/journey': READ,
  'GET /v1/events': READ,
  'GET /v1/stream': READ,
  'GET /v1/arrivals': READ,
  'GET /v1/streams': READ,
  'DELETE /v1/streams/{id}': READ,
  'GET /v1/quota': ADMIN,
  'GET /v1/polls': ADMIN,
  'GET /v1/rejected': READ,
  'GET /v1/categories': READ,
  'GET /v1/issuers': READ,
  'POST /v1/filters/test': READ,
  'POST /v1/tickets': READ,
  'GET /v1/status': 'any',
  'GET /v1/report': 'any',
  'GET /v1/me': 'any',
  'GET /v1/nodes': ADMIN,
  'GET /v1/audit': ADMIN,
  'POST /v1/sessions': 'any',
  'POST /v1/sessions/links': 'any',
  'DELETE /v1/sessions/current': 'any',
  'POST /v1/sessions/current/unlock': 'any',
  'GET /v1/consumers': ADMIN,
  'GET /v1/doctor': ADMIN,
  'POST /v1/admin/log-level': ADMIN,
  'POST /v1/admin/polling/pause': ADMIN,
  'POST /v1/admin/polling/resume': ADMIN,
  'POST /v1/admin/polling/now': ADMIN,
  'POST /v1/admin/gaps/{id}/retry': ADMIN,
  'POST /v1/admin/days/{date}/reconcile': ADMIN,
  'POST /v1/admin/leader/step-down': ADMIN,
  'GET /v1/tokens': ADMIN,
  'POST /v1/tokens': ADMIN,
  'DELETE /v1/tokens/{id}': ADMIN,
  'POST /v1/webhooks/rewrap': ADMIN,
  'GET /v1/disclosures/{id}/deliveries': SEE,
  'GET /v1/webhooks': SEE,
  'GET /v1/webhooks/{id}': SEE,
  'GET /v1/webhooks/{id}/attempts': SEE,
  'GET /v1/webhooks/{id}/deliveries': SEE,
  'GET /v1/webhooks/{id}/replays': SEE,
  'POST /v1/webhooks': WRITE,
  'PATCH /v1/webhooks/{id}': WRITE,
  'DELETE /v1/webhooks/{id}': WRITE,
  'POST /v1/webhooks/{id}/rotate': WRITE,
  'POST /v1/webhooks/{id}/enable': WRITE,
  'POST /v1/webhooks/{id}/disable': WRITE,
  'POST /v1/webhooks/{id}/test': WRITE,
  'POST /v1/webhooks/{id}/replay': REPLAY,
  'DELETE /v1/webhooks/{id}/replays/{replayId}': REPLAY,
  'GET /openapi.json': 'open',
  'GET /asyncapi.json': 'open',
  'GET /v2/openapi.json': 'open',
  'GET /v2/references/exchanges': 'open',
  'GET /v2/references/exchanges/{mic}': 'open',
  'GET /v2/disclosures/sources/rns/items': READ,
  'GET /v2/disclosures/sources/rns/items/{identifier}': READ,
  'GET /v2/nav': READ,
  'GET /v2/nav/{identifier}': READ,
  'GET /v2/nav/{identifier}/history': READ,
  'GET /v2/buybacks/{identifier}': READ,
  'GET /v2/buybacks/{identifier}/history': READ,
  'GET /v2/dividends/{identifier}': READ,
  'GET /v2/dividends/{identifier}/history': READ,
  'GET /v2/events/{identifier}': READ,
  'GET /v2/performance/{identifier}': READ,
}
/** What an operation is answered that may be done and is not a success: an upgrade is missing, the gateway is off. */
export const REFUSED_OTHERWISE: readonly [operations: RegExp, status: number][] = [
  [/^GET \/v1\/stream$/, 426],
  // They concern all tenants: only those of the tenant `default` may.
  [/^POST \/v1\/admin\//, 403],
  // A token has no session.
  [/^(DELETE|POST) \/v1\/sessions\/current/, 404],
  // Replays that are over are not listed.
  [/^DELETE .*\{replayId\}$/, 404],
  [/^GET \/v2\/(nav|buybacks|dividends|events|performance)/, 503],
]
/** Bodies that make these operations succeed. */
export const BODIES: Readonly<Record<string, object>> = {
  'POST /v1/filters/test': { filter: {} },
  'POST /v1/tokens': { tenant: 'TENANT', scopes: ['webhooks:read'] },
  'POST /v1/webhooks': { url: 'https://hooks.example/in' },
  'PATCH /v1/webhooks/{id}': { description: 'changed' },
  'POST /v1/webhooks/{id}/replay': { since: '2000-01-01T00:00:00Z', dryRun: true },
}
