/**
 * Records in a process beside the writer when it receives each event: `copy` as a node of the product (in its
 * recent-events buffer, so its readers have it), `plain` as a kafkajs consumer (in its batch). Arguments: kind,
 * brokers, topic prefix, data directory, last sequence. Writes `ready` on stdout when it has reached the log, and the
 * times as JSON when it has the last event.
 */
import { Kafka, logLevel } from 'kafkajs'
import { RecentEvents } from '../../src/archive/reading/recent-events.ts'
import { openReplica } from '../../src/archive/replica/replica.ts'
import { Replicator } from '../../src/archive/replica/replicator.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { atOnce } from '../../src/lifecycle/slices.ts'
import { openKafkaLog } from '../../src/log-kafka/log.ts'
import { createLogger } from '../../src/obs/logger.ts'
import { kafkaLogOptions } from '../../test/support/kafka/kafka-logs.ts'

const [kind, brokerList = '', prefix = '', dataDir = '', lastText = ''] = process.argv.slice(2)
const brokers = brokerList.split(',')
const last = Number(lastText)
/** Milliseconds since 1970 by the machine's clock, to the microsecond, for each sequence. */
const seenMs: [sequence: number, atMs: number][] = []

const note = (sequence: number): void => {
  seenMs.push([sequence, performance.timeOrigin + performance.now()])
}
const ready = (): void => void process.stdout.write('ready\n')

async function followAsCopy(): Promise<void> {
  const log = openKafkaLog(kafkaLogOptions(brokers, prefix))
  const archive = atOnce(openReplica({ dataDir, nativeKind: 'Native', onDamage: () => undefined }))
  const recentEvents = new RecentEvents(archive.latest)
  const logger = createLogger({ level: 'warn', secrets: [] })
  const replicator = new Replicator({
    log,
    archive,
    recentEvents,
    clock: systemClock,
    logger,
    shared: false,
    silentSinceMs: () => null,
  })
  const ended = new AbortController()
  const running = replicator.run(ended.signal)
  await replicator.replica.untilComplete(ended.signal)
  ready()
  for (let seen = recentEvents.latest; seen < last; ) {
    await recentEvents.waitBeyond(seen, ended.signal)
    for (; seen < recentEvents.latest; seen++) note(seen + 1)
  }
  ended.abort()
  await running
  await log.close()
  archive.close()
}

async function consume(): Promise<void> {
  const consumer = new Kafka({ brokers, logLevel: logLevel.NOTHING }).consumer({
    groupId: `tail-${process.pid}`,
  })
  const all = Promise.withResolvers<void>()
  await consumer.connect()
  await consumer.subscribe({ topics: [`${prefix}.all`] })
  consumer.on('consumer.group_join', ready)
  await consumer.run({
    eachBatch: async ({ batch }) => {
      for (const { headers } of batch.messages) note(Number(headers?.ce_sequence))
      if ((seenMs.at(-1)?.[0] ?? 0) >= last) all.resolve()
    },
  })
  await all.promise
  await consumer.disconnect()
}

await (kind === 'copy' ? followAsCopy() : consume())
process.stdout.write(`${JSON.stringify(seenMs)}\n`)
