/**
 * Defines and parses the records of the log's journal `audit`. Each holds a whole entry; a later record of the same id takes
 * the place of one that says `unknown`.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { auditOutcomes } from '../http/audit/audit-actions.ts'
import { type AuditFacts, changedMembers } from '../http/audit/changes.ts'

/** The journal of the log that holds them. */
export const AUDIT_JOURNAL = 'audit'

/** Most bytes of a member's JSON; of a larger one its size and hash are kept. */
const MOST_BYTES = 4096
/** Most characters of texts that a caller chose. */
const LONGEST_TEXT = 500

const facts = z.record(z.string(), z.unknown())

/** Reads a record. A newer version may know more actions. */
export const auditEntry = z.object({
  id: z.string(),
  /** When it was asked for, ms since 1970. */
  atMs: z.int(),
  action: z.string(),
  outcome: z.enum(auditOutcomes),
  /** Why it failed: the `code` of the answer; null where it did not. */
  code: z.string().nullable(),
  actor: z.object({
    tokenId: z.string(),
    /** Name of the token at that time. */
    name: z.string().nullable(),
    tenant: z.string(),
    /** The browser session; null where the token itself was sent. */
    sessionId: z.string().nullable(),
  }),
  /** The operator: the token of the settings. */
  isOperator: z.boolean(),
  address: z.string().nullable(),
  requestId: z.string().nullable(),
  target: z.string().nullable(),
  /** Whose the target is; null: of the whole bridge. */
  tenant: z.string().nullable(),
  before: facts,
  after: facts,
})

/** One entry. */
export type AuditEntry = z.output<typeof auditEntry>

/** The members that changed, as a record holds them: without hidden values, and none larger than 4 KB. */
export function recordedChange(before: AuditFacts, after: AuditFacts): Pick<AuditEntry, 'before' | 'after'> {
  const changed = changedMembers(before, after)
  return { before: bounded(changed.before), after: bounded(changed.after) }
}

/** A text that a caller chose, cut where it is long. */
export function boundedText(text: string): string {
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text
}

function bounded(members: AuditFacts): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => {
      const text = JSON.stringify(value)
      const bytes = Buffer.byteLength(text)
      if (bytes <= MOST_BYTES) return [name, JSON.parse(text)]
      return [name, { bytes, sha256: createHash('sha256').update(text).digest('hex') }]
    }),
  )
}
