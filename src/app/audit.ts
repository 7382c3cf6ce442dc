/** Builds the audit journal of a process that serves changes: what records them, and the copy from which they are listed. */
import { join } from 'node:path'
import { AuditRecorder } from '../audit/audit-recorder.ts'
import { AUDIT_JOURNAL, type AuditEntry } from '../audit/audit-rows.ts'
import { AUDIT_FILE, AuditTrail } from '../audit/audit-trail.ts'
import { type Audit, NO_AUDIT } from '../http/audit/changes.ts'
import type { Access } from './access.ts'
import { hasRole, type StartContext } from './context.ts'
import type { Readers } from './readers.ts'
import type { Storage } from './storage.ts'

/** What records changes, and lists them; `trail` is null for a process without the role `api`. */
export interface AuditParts {
  audit: Audit
  trail: AuditTrail | null
}

/** Registers the roles that write and read the journal. Only routes of `api`, `feed` and `console` change anything. */
export function buildAudit(
  context: StartContext,
  { log }: Storage,
  { tokens }: Access,
  { addressOf }: Readers,
): AuditParts {
  if (!hasRole(context, 'api', 'feed')) return { audit: NO_AUDIT, trail: null }
  const { settings, stack, roles } = context
  const retentionMs = settings.auditRetentionMs
  const journal = log.journal<AuditEntry>(AUDIT_JOURNAL, retentionMs)
  const recorder = new AuditRecorder({ ...context, journal, tokens, addressOf })
  stack.push('the audit journal', () => recorder.close())
  roles.push({ name: 'audit', run: (signal) => recorder.run(signal) })
  if (!hasRole(context, 'api')) return { audit: recorder, trail: null }
  const trail = new AuditTrail({ ...context, path: join(settings.dataDir, AUDIT_FILE), journal, retentionMs })
  stack.push('the copy of the audit journal', () => trail.close())
  roles.push({ name: 'audit entries', run: (signal) => trail.run(signal) })
  return { audit: recorder, trail }
}
