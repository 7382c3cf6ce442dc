/**
 * Measures the leader's CPU time for an upstream item, from the page's text to a committed and archived event on the
 * embedded log, and for an event archived again from a log's bytes: `npm run bench -- items [runs]`.
 */
import { join } from 'node:path'
import { openArchive } from '../src/archive/store/archive.ts'
import { type Committed, disclosureEvent } from '../src/core/event.ts'
import { NotYetReplicated } from '../src/ingest/poller/not-yet-replicated.ts'
import { readItems } from '../src/ingest/poller/read-page.ts'
import { PollerWriter } from '../src/ingest/writer-state/poller-writer.ts'
import { systemClock } from '../src/lifecycle/clock.ts'
import { atOnce } from '../src/lifecycle/slices.ts'
import { openSqliteLog } from '../src/log-embedded/log.ts'
import { readPage } from '../src/upstream/page.ts'
import { temporaryDirectory } from '../test/support/bridge-process.ts'
import type { Figure } from './figures.ts'
import { syntheticEvents } from './support/synthetic-events.ts'

const ITEMS = 100
const COMMITS = 60
const WARM_UP = 20
const RUNS = 5
const REBUILT_AT_ONCE = 500

/** CPU of a commit of 100 items and of a rebuilt event, in `runs` runs. */
export async function itemFigures(runs: number = RUNS): Promise<Figure[]> {
  const commitMs: number[] = []
  const eventUs: number[] = []
  for (let run = 0; run < runs; run++) {
    const { cpuMs, events } = await commitPages(run)
    commitMs.push(cpuMs)
    eventUs.push(rebuild(events))
  }
  return [
    { name: `CPU of a commit of ${ITEMS} items, from page to archive`, unit: 'ms', values: commitMs },
    { name: 'CPU of an event archived from the log', unit: 'µs', values: eventUs },
  ]
}

function cpuMs(from: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(from)
  return (user + system) / 1000
}

/** The mean CPU time of a page, and the events that the log has kept of all. */
async function commitPages(seed: number): Promise<{ cpuMs: number; events: Committed[] }> {
  using directory = temporaryDirectory()
  const clock = systemClock
  const { log, archive } = openSqliteLog({ dataDir: directory.path, nativeKind: 'Native', clock })
  const { signal } = new AbortController()
  const writer = new PollerWriter(await log.claim(await log.campaign(signal), signal))
  const ahead = new NotYetReplicated(archive)
  const next = syntheticEvents(seed)
  const pages = Array.from({ length: WARM_UP + COMMITS }, () => {
    const items = next(ITEMS).map(({ data }) => data)
    return `{"data":[${items.toReversed().join(',')}],"meta":{"paging":{"nextCursor":null}}}`
  })
  let start = process.cpuUsage()
  for (const [index, body] of pages.entries()) {
    if (index === WARM_UP) start = process.cpuUsage()
    const nowMs = clock.now()
    const answer = atOnce(readPage(body))
    if (!answer.ok) throw new Error(answer.reason)
    const never = (): boolean => false
    const standings = (guids: string[]) => ahead.latestOf(guids)
    const { fresh } = atOnce(readItems(answer.value, standings, never, never, nowMs))
    const events = fresh.map((item) => {
      const { disclosure, text, revision, fetchedMs } = item
      return disclosureEvent(disclosure, { item, data: text, revision, recordedMs: fetchedMs, late: false })
    })
    ahead.remember(await writer.commit({ events }))
  }
  const meanMs = cpuMs(start) / COMMITS
  const events = archive.committed(0, pages.length * ITEMS)
  if (events.length !== pages.length * ITEMS) throw new Error(`${events.length} events were archived`)
  await log.close()
  return { cpuMs: meanMs, events }
}

/** The mean CPU time of an event, microseconds, in a replica that a node fills from what it reads of the log. */
function rebuild(events: readonly Committed[]): number {
  using directory = temporaryDirectory()
  const archive = openArchive({
    path: join(directory.path, 'bridge.db'),
    nativeKind: 'Native',
    durable: false,
  })
  const start = process.cpuUsage()
  for (let from = 0; from < events.length; from += REBUILT_AT_ONCE) {
    archive.append(events.slice(from, from + REBUILT_AT_ONCE))
  }
  const meanUs = (cpuMs(start) * 1000) / events.length
  archive.close()
  return meanUs
}
