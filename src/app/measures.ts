/**
 * Measures, at each scrape, what does not happen by itself: readiness, the replica, deliveries, files and the disk.
 */
import { statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { PublishedDay } from '../archive/days.ts'
import type { OpsOptions } from '../http/ops.ts'
import type { Ingest } from '../ingest/ingest.ts'
import { lastBackupMs } from '../log-embedded/backup-note.ts'
import type { Health } from '../obs/health.ts'
import { dayStates } from '../obs/metrics.ts'
import { type ReadinessCheck, storeFiles } from '../obs/process-metrics.ts'
import { earliestExpiryMs } from '../settings/pem.ts'
import type { StartContext } from './context.ts'
import type { Storage } from './storage.ts'

/** A day is reconciled in the evening, and a failed one again in the days that follow. */
const MEASURED_DAYS = 7

/** What is measured beside the storage. */
export interface Measured {
  readiness: () => Health
  webhooks: { measure(): void } | null
  ingest: Pick<Ingest, 'days'> | null
  /** The certificate of the public listener that is in use, PEM; null without TLS. */
  certificate: () => string | null
}

/** The metrics, with their gauges measured at each scrape. */
export function scrapedMetrics(
  context: StartContext,
  storage: Storage,
  { readiness, webhooks, ingest, certificate }: Measured,
): OpsOptions['metrics'] {
  const { metrics, tracing } = context
  const measure = (): void => {
    for (const [check, outcome] of Object.entries(readiness().checks)) {
      metrics.ready.set({ check: check as ReadinessCheck }, Number(outcome))
    }
    measureReplica(context, storage)
    metrics.itemsRejectedKept.set(known(() => storage.log.rejectedKept?.() ?? null))
    measureDisk(context)
    measureCertificates(context, storage, certificate())
    measureDays(context, ingest?.days() ?? null)
    webhooks?.measure()
  }
  return {
    contentType: metrics.contentType,
    scrape() {
      measure()
      return metrics.scrape()
    },
    ...(tracing !== null && {
      scrapeOpenMetrics() {
        measure()
        return metrics.scrapeOpenMetrics()
      },
    }),
  }
}

function measureReplica({ metrics }: StartContext, { replicator }: Storage): void {
  const { lagMs } = replicator
  const { end, events } = replicator.lag
  metrics.logSequence.set(replicator.hasHeard || end > 0 ? end : null)
  metrics.followerLagEvents.set(events)
  metrics.followerLag.set(lagMs === null ? null : lagMs / 1000)
}

/** Days as the leader knows them; null on every other process, which then has no series of them. */
function measureDays({ metrics }: StartContext, days: readonly PublishedDay[] | null): void {
  const over = days?.slice(-1 - MEASURED_DAYS, -1)
  const counts = over === undefined ? null : countDays(over)
  for (const state of dayStates) metrics.days.set({ state }, counts?.[state] ?? null)
}

/** How many of these days are in each state. Each counts once: with an open gap as that, whatever became of its re-read. */
export function countDays(
  days: readonly Pick<PublishedDay, 'walk' | 'gapsLeft'>[],
): Record<(typeof dayStates)[number], number> {
  const states = days.map((day) => (day.gapsLeft > 0 ? 'gaps_left' : day.walk))
  const counted = dayStates.map((state) => [state, states.filter((one) => one === state).length])
  return Object.fromEntries(counted)
}

function measureDisk({ metrics, settings: { dataDir } }: StartContext): void {
  const volume = known(() => statfsSync(dataDir))
  metrics.dataFree.set(volume === null ? null : volume.bavail * volume.bsize)
  metrics.backupLastSuccess.set(known(() => lastBackupMs(dataDir) / 1000))
  for (const file of storeFiles) {
    metrics.storeBytes.set(
      { file },
      known(() => statSync(join(dataDir, file)).size),
    )
  }
}

/** Those in use: a renewed file that cannot be used changes nothing. */
function measureCertificates(
  { metrics }: StartContext,
  { credentials }: Pick<Storage, 'credentials'>,
  ofListener: string | null,
): void {
  const ofKafka = credentials?.current.tls
  const expiry = (pem: string | null | undefined): number | null =>
    known(() => earliestExpiryMs(pem ?? '') / 1000)
  metrics.certificateExpiry.set({ certificate: 'http' }, expiry(ofListener))
  metrics.certificateExpiry.set({ certificate: 'kafka_ca' }, expiry(ofKafka?.ca))
  metrics.certificateExpiry.set({ certificate: 'kafka_client' }, expiry(ofKafka?.cert))
}

/** What is asked; null where it throws, e.g. because a file is not there. The scrape goes on without it. */
function known<T>(ask: () => T): T | null {
  try {
    return ask()
  } catch {
    return null
  }
}
