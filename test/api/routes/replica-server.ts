/** Serves the bridge's `/v2` on a real socket, over an archive that a test fills and empties. */
import { onTestFinished } from 'vitest'
import { copiedItemRoutes } from '../../../src/api/routes/replica-items.ts'
import { archiveItems } from '../../../src/archive/items/items.ts'
import type { Archive } from '../../../src/archive/store/archive.ts'
import { COMPLETE_REPLICA, type ReplicaState } from '../../../src/archive/store/replica-progress.ts'
import { contentHash, readDisclosure } from '../../../src/core/disclosure.ts'
import { disclosureEvent, type NewEvent } from '../../../src/core/event.ts'
import { adminAuthenticate } from '../../../src/http/auth.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { EPOCH, inPlace, memoryArchive } from '../../archive/samples.ts'
import type { Item, ListBody, Reply } from '../../sandbox/sandbox-client.ts'
import { openMount } from '../mirror/mirror-mount.ts'

const KEY = 'key-of-this-test'

export interface CopyServer {
  archive: Archive
  /** Commits these events. */
  append: (...events: NewEvent[]) => void
  /** Commits these items in the order of their times, as one poll would. */
  publish: (items: readonly Item[]) => void
  /** Deletes all events. */
  empty: () => void
  /** Sends GET to a path below that of the items. */
  get: (path: string) => Promise<Reply>
  list: (query?: string | Record<string, string | number>) => Promise<Reply>
}

/** Opens a server that closes when the test ends and whose clock is at `nowMs`. */
export async function openCopy(nowMs: number, copy: ReplicaState = COMPLETE_REPLICA): Promise<CopyServer> {
  const archive = memoryArchive()
  const items = archiveItems(archive, systemClock)
  const routes = copiedItemRoutes({ items, copy, now: () => nowMs, nativeWord: 'native' })
  onTestFinished(() => archive.close())
  const base = await openMount(routes, adminAuthenticate(KEY))
  const get = async (path: string): Promise<Reply> => {
    const url = `${base}/disclosures/sources/rns/items${path}`
    const response = await fetch(url, { headers: { 'x-api-key': KEY } })
    return { status: response.status, headers: response.headers, body: (await response.json()) as ListBody }
  }
  const append = (...events: NewEvent[]): void =>
    archive.append(inPlace(events, archive.latest + 1, archive.epoch ?? EPOCH))
  return {
    archive,
    append,
    publish: (published) => append(...published.flatMap((item) => eventOf(archive, item)).sort(inTime)),
    empty: () => archive.clear(),
    get,
    list: (query = '') => get(`?${typeof query === 'string' ? query : parametersOf(query)}`),
  }
}

function eventOf(archive: Archive, item: Item): NewEvent[] {
  const read = readDisclosure(item)
  if (!read.ok) throw new Error(read.reason)
  const held = archive.known([read.disclosure.guid]).get(read.disclosure.guid)
  if (held?.hash === contentHash(item)) return []
  const { timeMs } = read.disclosure
  const revision = (held?.revision ?? 0) + 1
  const data = JSON.stringify(item)
  return [disclosureEvent(read.disclosure, { data, revision, recordedMs: timeMs, late: false })]
}

function inTime(left: NewEvent, right: NewEvent): number {
  return left.timeMs - right.timeMs || (left.id < right.id ? -1 : 1)
}

function parametersOf(query: Record<string, string | number>): string {
  return Object.entries(query)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}
