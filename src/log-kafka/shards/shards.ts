/**
 * The lanes of one name, shared by every process that asks for them: one partition each of one topic. Owns the course of an
 * ownership: what the group gives is taken, worked on, and let go of. Refuses to believe the group: `valid-records.ts` says who
 * owns a lane.
 */
import { isBridgeError } from '../../errors.ts'
import { aborted } from '../../lifecycle/aborted.ts'
import { sleep } from '../../lifecycle/clock.ts'
import { createTurns } from '../../lifecycle/turns.ts'
import type { Lane, Lanes } from '../../log/log.ts'
import type { ReaderParts } from '../client/connection.ts'
import { within } from '../client/with-timeout.ts'
import type { ShareLanes } from './shard-group.ts'
import { type LaneHold, takeLane } from './shard-lease.ts'
import { createLaneReader, type LaneReader } from './shard-reader.ts'
import { createLaneWriter, type LaneWriter } from './shard-writer.ts'

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

/** The work for a lane. */
interface Tending {
  /** The lane goes to another process, which waits for the end of the work. */
  leave(): void
  /** The lane is lost. */
  lose(reason: string): void
  ended: Promise<void>
}

/** What ends it. */
type TendingEnd = Record<'leave' | 'away', AbortSignal>

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
  /** Lanes that the group gives. */
  const given = new Map<number, Tending>()
  /** Those that it gives no longer, and whose work has not ended. */
  const ending = new Map<number, Tending>()
  const faults: unknown[] = []
  /** Stands for all lanes while the group does not hear this process. */
  const outside = Symbol('outside the group')

  const give = (lane: number): void => {
    const [leave, away] = [new AbortController(), new AbortController()]
    const signals = { leave: leave.signal, away: away.signal }
    // A lane that comes back while its work is ending is taken when that has ended.
    const before = ending.get(lane)?.ended ?? Promise.resolve()
    const ended = before
      .then(() => tend(ownership, lane, signals))
      .catch((error: unknown) => {
        faults.push(error)
        failed.abort(error)
      })
    given.set(lane, { leave: () => leave.abort(), lose: (reason) => away.abort(reason), ended })
  }
  const letGo = (lane: number, tending: Tending): void => {
    given.delete(lane)
    ending.set(lane, tending)
    void tending.ended.then(() => {
      if (ending.get(lane) === tending) ending.delete(lane)
    })
  }
  const assigned = (lanes: readonly number[]): void => {
    if (stopping.aborted) return
    loading.delete(outside)
    const kept = new Set(lanes)
    const gone = [...given].filter(([lane]) => !kept.has(lane))
    for (const [lane, tending] of gone) {
      letGo(lane, tending)
      tending.leave()
    }
    const fresh = lanes.filter((lane) => lane < place.count && !given.has(lane))
    for (const lane of fresh) give(lane)
    const changed = gone.length + fresh.length
    if (changed > 0) parts.logger.info('lanes.assigned', { name: place.groupId, count: given.size, changed })
  }
  const loseAll = (reason: string): void => {
    for (const { lose } of [...given.values(), ...ending.values()]) lose(reason)
  }
  const expelled = (reason: string, heardMs: number): void => {
    if (stopping.aborted) return
    loading.set(outside, heardMs)
    const gone = [...given]
    loseAll(reason)
    for (const [lane, tending] of gone) letGo(lane, tending)
    // Whoever has them next repeats what is under way now: an operator who sees repeats finds the reason here.
    if (gone.length > 0)
      parts.logger.warn('lanes.lost', { name: place.groupId, count: 0, changed: gone.length, reason })
  }
  const closing = (): void => loseAll('the log is closed')
  const failing = (): void => loseAll('the work for another lane has failed')
  parts.closed.addEventListener('abort', closing, { once: true })
  failed.signal.addEventListener('abort', failing, { once: true })

  const reading = reader.run(over.signal)
  const sharing = new AbortController()
  const held = (): number[] => [...given.keys()]
  const shared = parts.share({ ...parts, ...place, held, assigned, expelled }, sharing.signal)
  await aborted(stopping)
  loading.delete(outside)
  await Promise.all([...given.values(), ...ending.values()].map(({ ended }) => ended))
  loseAll('it was given up')
  sharing.abort()
  await shared
  over.abort()
  await reading
  parts.closed.removeEventListener('abort', closing)
  if (faults.length > 0) throw faults[0]
}

/** Takes the lane and has it worked on, again and again, until it is to go or nothing more is taken. */
async function tend<V>(ownership: Ownership<V>, lane: number, end: TendingEnd): Promise<void> {
  const { parts, stopping, loading } = ownership
  const { clock } = parts
  const ended = AbortSignal.any([end.away, end.leave, stopping])
  const tending = Symbol(`lane ${lane}`)
  const setLoading = (isLoading: boolean): void => {
    if (!isLoading) loading.delete(tending)
    else if (!loading.has(tending)) loading.set(tending, clock.now())
  }
  try {
    while (!ended.aborted) {
      setLoading(true)
      await tendOnce(ownership, lane, end, setLoading)
      await sleep(clock, TAKE_AGAIN_MS, ended)
    }
  } finally {
    setLoading(false)
  }
}

/** Takes the lane once, and tells when it is loaded; resolves when it is lost, or was worked on and is to go. */
async function tendOnce<V>(
  { parts, place, reader, writer, work, stopping }: Ownership<V>,
  lane: number,
  { leave, away }: TendingEnd,
  setLoading: (isLoading: boolean) => void,
): Promise<void> {
  const { clock, logger } = parts
  const hold: LaneHold<V> = takeLane(lane, {
    writer,
    clock,
    lost: (reason) => logger.debug('lane.lost', { name: place.groupId, lane, reason }),
    // An owner that ends its work takes its time, and nothing is wrong.
    awaitingOwner: (isAwaiting) => setLoading(!isAwaiting),
  })
  const lose = (): void => hold.lose(String(away.reason))
  away.addEventListener('abort', lose, { once: true })
  leave.addEventListener('abort', hold.leave, { once: true })
  if (away.aborted) lose()
  if (leave.aborted) hold.leave()
  reader.add(lane, hold)
  try {
    const owned = await within(clock, null, stopping, hold.owned)
    setLoading(false)
    await work(owned)
    await within(clock, null, stopping, Promise.race([aborted(hold.lost), aborted(owned.leaving)]))
  } catch (error) {
    const isEnd = error === stopping.reason || (isBridgeError(error, 'lane_lost') && hold.lost.aborted)
    if (!isEnd) throw error
  } finally {
    away.removeEventListener('abort', lose)
    leave.removeEventListener('abort', hold.leave)
    await hold.left()
    reader.remove(lane)
    hold.lose('it was given up')
  }
}
