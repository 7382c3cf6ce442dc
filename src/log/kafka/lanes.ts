/**
 * The lanes of one name, shared by every process that asks for them: one partition each of one topic. Owns the course of an
 * ownership: what the group gives is taken, worked on, and let go of. Refuses to believe the group: `lane-fold.ts` says who
 * owns a lane.
 */
import { isBridgeError } from '../../errors.ts'
import { aborted } from '../../lifecycle/aborted.ts'
import { sleep } from '../../lifecycle/clock.ts'
import { createTurns } from '../../lifecycle/turns.ts'
import type { Lane, Lanes } from '../log.ts'
import type { ReaderParts } from './connection.ts'
import { within } from './deadline.ts'
import type { ShareLanes } from './lane-group.ts'
import { type LaneHold, takeLane } from './lane-hold.ts'
import { createLaneReader, type LaneReader } from './lane-reader.ts'
import { createLaneWriter, type LaneWriter } from './lane-writer.ts'

/** Before a lane that was lost while the group still gives it is taken again, ms: two who both believe so take turns. */
const TAKE_AGAIN_MS = 1_000

/** What lanes need. */
export interface LaneParts extends ReaderParts {
  /** Throws once the log is closed, which `closed` tells. */
  open(): void
  closed: AbortSignal
  /** Resolves when the topic is there. Rejects with the signal's reason when it aborts first. */
  ready(signal: AbortSignal): Promise<void>
  /** How processes agree on who should have which lane. */
  share: ShareLanes
}

/** Where lanes are. */
export interface LanePlace {
  topic: string
  groupId: string
  count: number
}

/** One ownership. */
interface Ownership<V> {
  parts: LaneParts
  place: LanePlace
  reader: LaneReader
  writer: LaneWriter
  work(lane: Lane<V>): Promise<void>
  /** Aborts when nothing more is taken. */
  stopping: AbortSignal
  /** Since when lanes that the group gives are not loaded, ms since 1970, by their tending. */
  loading: Map<symbol, number>
}

/** The lanes of that topic. */
export function createKafkaLanes<V>(parts: LaneParts, place: LanePlace): Lanes<V> {
  const { open, closed, ready } = parts
  const inTurn = createTurns()
  const loading = new Map<symbol, number>()
  return {
    get loadingSinceMs() {
      return loading.size === 0 ? null : Math.min(...loading.values())
    },
    async own(work, signal) {
      open()
      const either = AbortSignal.any([signal, closed])
      try {
        await inTurn('own', async () => {
          await ready(either)
          await ownUntil({ parts, place, work, loading }, either)
        })
      } catch (error) {
        if (!either.aborted || error !== either.reason) throw error
      }
    },
  }
}

async function ownUntil<V>(
  { parts, place, work, loading }: Pick<Ownership<V>, 'parts' | 'place' | 'work' | 'loading'>,
  stopped: AbortSignal,
): Promise<void> {
  const failed = new AbortController()
  const stopping = AbortSignal.any([stopped, failed.signal])
  const over = new AbortController()
  const reader = createLaneReader(parts, place.topic)
  const writer = createLaneWriter(parts, place.topic, over.signal)
  const ownership = { parts, place, reader, writer, work, stopping, loading }
  /** Lanes that the group gives, each with what takes it away and the end of its work. */
  const given = new Map<number, { lose(reason: string): void; ended: Promise<void> }>()
  const faults: unknown[] = []

  const give = (lane: number): void => {
    const away = new AbortController()
    const ended = tend(ownership, lane, away.signal).catch((error: unknown) => {
      faults.push(error)
      failed.abort(error)
    })
    given.set(lane, { lose: (reason) => away.abort(reason), ended })
  }
  const assigned = (lanes: readonly number[], reason: string): void => {
    if (stopping.aborted) return
    const kept = new Set(lanes)
    const lost = [...given].filter(([lane]) => !kept.has(lane))
    for (const [lane, { lose, ended }] of lost) {
      given.delete(lane)
      lose(reason)
      endings.add(ended)
      void ended.then(() => endings.delete(ended))
    }
    const fresh = lanes.filter((lane) => lane < place.count && !given.has(lane))
    for (const lane of fresh) give(lane)
    if (lost.length + fresh.length > 0) {
      parts.logger.info('lanes.assigned', {
        name: place.groupId,
        count: given.size,
        changed: lost.length + fresh.length,
      })
    }
  }
  /** Ends of work for lanes that are lost already. */
  const endings = new Set<Promise<void>>()
  const loseAll = (reason: string): void => {
    for (const { lose } of given.values()) lose(reason)
  }
  const closing = (): void => loseAll('the log is closed')
  const failing = (): void => loseAll('the work for another lane has failed')
  parts.closed.addEventListener('abort', closing, { once: true })
  failed.signal.addEventListener('abort', failing, { once: true })

  const reading = reader.run(over.signal)
  const sharing = new AbortController()
  const shared = parts.share({ ...parts, ...place, held: () => [...given.keys()], assigned }, sharing.signal)
  await aborted(stopping)
  await Promise.all([...[...given.values()].map(({ ended }) => ended), ...endings])
  loseAll('it was given up')
  sharing.abort()
  await shared
  over.abort()
  await reading
  parts.closed.removeEventListener('abort', closing)
  if (faults.length > 0) throw faults[0]
}

/** Takes the lane and has it worked on, again and again, until `away` aborts or nothing more is taken. */
async function tend<V>(ownership: Ownership<V>, lane: number, away: AbortSignal): Promise<void> {
  const { parts, stopping, loading } = ownership
  const { clock } = parts
  const ended = AbortSignal.any([away, stopping])
  const tending = Symbol(`lane ${lane}`)
  try {
    while (!ended.aborted) {
      loading.set(tending, loading.get(tending) ?? clock.now())
      await tendOnce(ownership, lane, away, () => loading.delete(tending))
      await sleep(clock, TAKE_AGAIN_MS, ended)
    }
  } finally {
    loading.delete(tending)
  }
}

/** Takes the lane once, and tells when it is loaded; resolves when it is lost, or was worked on and nothing more is taken. */
async function tendOnce<V>(
  { parts, place, reader, writer, work, stopping }: Ownership<V>,
  lane: number,
  away: AbortSignal,
  onLoaded: () => void,
): Promise<void> {
  const { clock, logger } = parts
  const hold: LaneHold<V> = takeLane(lane, {
    writer,
    clock,
    lost: (reason) => logger.debug('lane.lost', { name: place.groupId, lane, reason }),
  })
  const lose = (): void => hold.lose(String(away.reason))
  if (away.aborted) lose()
  away.addEventListener('abort', lose, { once: true })
  reader.add(lane, hold)
  try {
    const owned = await within(clock, null, stopping, hold.owned)
    onLoaded()
    await work(owned)
    await within(clock, null, stopping, aborted(hold.lost))
  } catch (error) {
    const isEnd = error === stopping.reason || (isBridgeError(error, 'lane_lost') && hold.lost.aborted)
    if (!isEnd) throw error
  } finally {
    away.removeEventListener('abort', lose)
    reader.remove(lane)
    hold.lose('it was given up')
  }
}
