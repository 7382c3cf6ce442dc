/**
 * Builds the role `poller`, which polls the upstream and publishes to the log. Of all nodes with this role, only the
 * elected leader does so.
 */
import { createIngest, type Ingest } from '../ingest/ingest.ts'
import type { StartContext } from './context.ts'
import type { Storage } from './storage.ts'

/** Null for a process without the role `poller`. */
export function buildLeader(context: StartContext, storage: Storage): Ingest | null {
  const { settings, stack, roles } = context
  const { upstream } = settings
  if (!settings.roles.includes('poller') || upstream === null) return null
  const ingest = createIngest({ ...context, ...settings, ...storage, upstream })
  stack.push('the upstream client', () => ingest.close())
  roles.push(...ingest.tasks)
  return ingest
}
