/** Reads the bad states of this process that are logged when they last from what its parts know of themselves. */
import type { Ingest } from '../ingest/ingest.ts'
import type { FaultName, Standing } from '../obs/lasting-faults.ts'
import type { Access } from './access.ts'
import type { StartContext } from './context.ts'
import type { Storage } from './storage.ts'

/** Readers are behind by moments all the time; this age of an event that they lack is bad, ms. */
const BEHIND_MS = 60_000

/** What the states are read from. */
export interface FaultParts extends Pick<StartContext, 'clock'> {
  storage: Pick<Storage, 'waitingFor' | 'silentSinceMs'> & {
    replicator: Pick<Storage['replicator'], 'lag'> & {
      replica: Pick<Storage['replicator']['replica'], 'filling'>
    }
  }
  /** Null without the role `poller`. */
  ingest: (Pick<Ingest, 'upstreamStanding'> & { poller: { state: { name: string } } }) | null
  access: Pick<Access, 'checks'>
  /** Null without the role `webhooks`. */
  webhooks: { isWell(): boolean } | null
}

const FINE: Standing = { is: 'fine' }

/** The areas to look at, by name. While the log is bad, nothing new is known of what depends on it. */
export function faultAreas(parts: FaultParts): Readonly<Record<string, () => Standing>> {
  const { ingest, access, webhooks } = parts
  const log = (): Standing => logStanding(parts)
  const unlessLogIsBad = (look: () => Standing) => (): Standing =>
    log().is === 'bad' ? { is: 'unknown' } : look()
  const areTablesRead = (): boolean => Object.values(access.checks).every((check) => check())
  return {
    log,
    copy: unlessLogIsBad(() => copyStanding(parts)),
    tables: unlessLogIsBad(() => badUnless(areTablesRead(), 'tables_unread')),
    ...(webhooks !== null && {
      webhooks: unlessLogIsBad(() => badUnless(webhooks.isWell(), 'webhook_state_stuck')),
    }),
    ...(ingest !== null && { upstream: ingest.upstreamStanding }),
  }
}

function badUnless(isWell: boolean, what: FaultName): Standing {
  return isWell ? FINE : { is: 'bad', what }
}

function logStanding({ storage, ingest }: FaultParts): Standing {
  const reason = storage.waitingFor()
  if (reason !== null) return { is: 'bad', what: 'kafka_unavailable', reason }
  if (storage.silentSinceMs() !== null) return { is: 'bad', what: 'kafka_unavailable' }
  return badUnless(ingest?.poller.state.name !== 'claiming', 'log_not_writable')
}

function copyStanding({ storage: { replicator }, clock }: FaultParts): Standing {
  const { sinceMs } = replicator.lag
  const isBehind = sinceMs !== null && clock.now() - sinceMs > BEHIND_MS
  return badUnless(!isBehind || replicator.replica.filling !== null, 'copy_behind')
}
