/** Chooses what the audit journal shows of an endpoint: neither its secrets, nor its headers, nor the path of its URL. */
import { type AuditFacts, type AuditValue, type AuditView, Hidden, viewed } from '../../http/audit/changes.ts'
import type { Endpoint } from '../../registry/endpoints.ts'

const same = <V extends AuditValue>(value: V): V => value

const view: AuditView<Endpoint> = {
  // Named by the entry.
  id: null,
  version: null,
  tenant: null,
  createdAtMs: null,
  // Receivers put keys into paths and queries.
  url: (url) => new Hidden(url, `${new URL(url).origin}/[hidden]`),
  description: same,
  status: same,
  disabledReason: same,
  filter: (filter) => filter as AuditValue,
  headers: (headers) => new Hidden(headers),
  maxConcurrency: same,
  rateLimit: same,
  order: same,
  maxBatch: (most) => most ?? null,
  start: same,
  secrets: (secrets) => new Hidden(secrets),
}

/** The members of an endpoint that an entry may show. */
export function auditedEndpoint(endpoint: Endpoint): AuditFacts {
  return viewed(view, endpoint)
}
