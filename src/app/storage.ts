/**
 * Opens the event log with its archive on this node's disk, and builds the reader and the replicator. The replicator
 * takes over committed events for readers: into the buffer of recent events and, on Kafka, into the archive.
 */
import { createReader, type Reader } from '../archive/reading/reader.ts'
import { FEW_RECENT_EVENTS, MANY_RECENT_EVENTS, RecentEvents } from '../archive/reading/recent-events.ts'
import { createSearchSlices, type SearchSlices } from '../archive/reading/search-slices.ts'
import { runPruner } from '../archive/replica/pruner.ts'
import { Replicator } from '../archive/replica/replicator.ts'
import { noteRetention, runRetention } from '../log-embedded/retention.ts'
import { KafkaCredentialFiles } from '../settings/kafka-credentials.ts'
import { hasRole, type StartContext } from './context.ts'
import { type OpenedLog, openLog } from './open-log.ts'

/** The log with everything that reads it. */
export interface Storage extends OpenedLog {
  replicator: Replicator
  recentEvents: RecentEvents
  reader: Reader
  searchSlices: SearchSlices
  /** Null on the embedded log. */
  credentials: KafkaCredentialFiles | null
}

/**
 * `noteUpgrade`: called with the share of the store that is upgraded so far, where its layout is of an earlier version.
 * @throws BridgeError as `openLog`
 */
export async function openStorage(
  context: StartContext,
  noteUpgrade: (share: number) => void,
): Promise<Storage> {
  const { settings, clock, logger, metrics, roles, faultHooks } = context
  const credentials = followCredentials(context)
  const opened = await openLog(
    {
      kafka: settings.kafka,
      ...(credentials && { credentials: () => credentials.current }),
      dataDir: settings.dataDir,
      nativeKind: settings.native.kind,
      clock,
      logger,
      metrics,
      ...(faultHooks && { faultHooks }),
      onUpgrade({ sequence, latest }) {
        noteUpgrade(latest === 0 ? 1 : sequence / latest)
        logger.info('archive.upgrade', { sequence, latest })
      },
    },
    context.stack,
  )
  const { archive, shared } = opened
  const bounds = hasRole(context, 'api', 'feed', 'webhooks') ? MANY_RECENT_EVENTS : FEW_RECENT_EVENTS
  const recentEvents = new RecentEvents(archive.latest, bounds)
  const replicator = new Replicator({ ...opened, recentEvents, clock, logger })
  const searchSlices = createSearchSlices(clock)
  const reader = createReader(archive, recentEvents, clock, replicator.replica, searchSlices)
  roles.push({ name: 'replicator', run: (signal) => replicator.run(signal) })
  if (shared) {
    const retentionMs = settings.embeddedRetentionMs
    const beginsMs = noteRetention(archive, retentionMs, clock.now())
    const parts = { archive, beginsMs, clock, logger }
    if (retentionMs !== null)
      roles.push({ name: 'retention', run: (signal) => runRetention({ ...parts, retentionMs }, signal) })
  } else {
    const parts = { ...opened, replica: replicator.replica, clock, logger }
    roles.push({ name: 'pruner', run: (signal) => runPruner(parts, signal) })
    roles.push({ name: 'damage of the log', run: opened.watch })
  }
  return { ...opened, replicator, recentEvents, reader, searchSlices, credentials }
}

/** Null on the embedded log. */
function followCredentials({
  settings: { kafka },
  secrets,
  clock,
  logger,
  roles,
}: StartContext): KafkaCredentialFiles | null {
  if (kafka === null) return null
  const onSecret = (password: string): void => void secrets.push(password)
  const credentials = new KafkaCredentialFiles({ kafka, onSecret, clock, logger })
  if (credentials.hasFiles) {
    roles.push({ name: 'credentials for Kafka', run: (signal) => credentials.run(signal) })
  }
  return credentials
}
