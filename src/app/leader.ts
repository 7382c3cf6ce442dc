/**
 * Builds the role `poller`, which polls the upstream and publishes to the log. Of all nodes with this role, only the
 * elected leader does so.
 */
import { createIngest, type Ingest } from '../ingest/ingest.ts'
import { PollingPauses } from '../registry/polling-pauses.ts'
import { KeyFile } from '../settings/key-file.ts'
import type { UpstreamSettings } from '../settings/settings.ts'
import type { StartContext } from './context.ts'
import type { Storage } from './storage.ts'

/** This node's view of whether polling is paused, which every process has; registers the role that keeps it up to date. */
export function buildPollingPauses(context: StartContext, { log }: Pick<Storage, 'log'>): PollingPauses {
  const pauses = new PollingPauses({ ...context, log })
  context.roles.push({ name: 'polling-pauses', run: (signal) => pauses.run(signal) })
  return pauses
}

/** Null for a process without the role `poller`. */
export function buildLeader(context: StartContext, storage: Storage, pauses: PollingPauses): Ingest | null {
  const { settings, stack, roles } = context
  const { upstream } = settings
  if (!settings.roles.includes('poller') || upstream === null) return null
  const keyFile = keyFileOf(context, upstream)
  const given = keyFile !== null && { upstreamKey: () => keyFile.key }
  const ingest = createIngest({ ...context, ...settings, ...storage, upstream, pauses, ...given })
  stack.push('the upstream client', () => ingest.close())
  roles.push(...ingest.tasks)
  if (keyFile !== null) {
    const tryKey = (): void => tryAtOnce(ingest)
    roles.push({ name: 'upstream key', run: (signal) => keyFile.run(signal, tryKey) })
  }
  return ingest
}

/** Ends the wait after a refused key. Where no poll may leave, the poller goes on waiting. */
function tryAtOnce({ poller }: Ingest): void {
  if (poller.leaderSinceMs !== null) poller.order({ what: 'poll' })
}

/** Null where the key was given as text. */
function keyFileOf(context: StartContext, { key, keyFile: path }: UpstreamSettings): KeyFile | null {
  const onSecret = (next: string): void => void context.secrets.push(next)
  return path === undefined ? null : new KeyFile({ ...context, path, key, onSecret })
}
