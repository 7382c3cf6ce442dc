/**
 * Lists the actions of the audit journal: what a request may change. An action of the kind `stored` changes what the log
 * holds, one of the kind `local` only the process that was asked, or a receiver outside.
 */

/** Every action with its kind. A `stored` one is recorded before it is made, a `local` one after it. */
export const auditActions = {
  'token.created': 'stored',
  'token.deleted': 'stored',
  'webhook.created': 'stored',
  'webhook.updated': 'stored',
  'webhook.deleted': 'stored',
  'webhook.secret_rotated': 'stored',
  'webhook.enabled': 'stored',
  'webhook.disabled': 'stored',
  'webhook.tested': 'local',
  'webhook.replay_started': 'stored',
  'webhook.replay_cancelled': 'stored',
  'webhook.secrets_re_encrypted': 'stored',
  'polling.paused': 'stored',
  'polling.resumed': 'stored',
  'polling.poll_ordered': 'local',
  'gap.retry_ordered': 'local',
  'day.reconciliation_ordered': 'local',
  'leader.step_down_ordered': 'local',
  'log_level.changed': 'local',
  'stream.ended': 'local',
  'session.link_created': 'local',
  'session.begun': 'local',
  'session.unlocked': 'local',
  'session.ended': 'local',
} as const satisfies Record<string, 'stored' | 'local'>

/** One of them. */
export type AuditAction = keyof typeof auditActions

/** All of them, in the order of the docs. */
export const auditActionNames = Object.keys(auditActions) as AuditAction[]

/** What became of an action; `unknown`: it was begun, and the process ended or lost the log before it knew. */
export const auditOutcomes = ['done', 'failed', 'unknown'] as const
export type AuditOutcome = (typeof auditOutcomes)[number]
