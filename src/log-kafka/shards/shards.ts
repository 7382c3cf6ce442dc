/**
 * The shards of one name, shared by every process that asks for them: one partition each of one topic. Owns the course of an
 * ownership: what the group gives is taken, worked on, and let go of. Refuses to believe the group: `valid-records.ts` says who
 * owns a shard.
 */
import { isBridgeError } from '../../errors.ts'
import { aborted } from '../../lifecycle/aborted.ts'
import { sleep } from '../../lifecycle/clock.ts'
import { createKeyedMutex } from '../../lifecycle/keyed-mutex.ts'
import type { Shard, Shards } from '../../log/shards.ts'
import type { ReaderParts } from '../client/connection.ts'
import { abortable } from '../client/with-timeout.ts'
import type { ShareShards } from './shard-group.ts'
import { type ShardHold, takeShard } from './shard-lease.ts'
import { createShardReader, type ShardReader } from './shard-reader.ts'
import { createShardWriter, type ShardWriter } from './shard-writer.ts'

/** Before a shard that was lost while the group still gives it is taken again, ms: two who both believe so take turns. */
const TAKE_AGAIN_MS = 1_000

/** What shards need. */
export interface ShardParts extends ReaderParts {
  /** Throws once the log is closed, which `closed` tells. */
  open(): void
  closed: AbortSignal
  /** Resolves when the topic is there. Rejects with the signal's reason when it aborts first. */
  ready(signal: AbortSignal): Promise<void>
  /** How processes agree on who should have which shard. */
  share: ShareShards
}

/** Where shards are. */
export interface ShardPlace {
  topic: string
  groupId: string
  count: number
}

/** One ownership. */
interface Ownership<V> {
  parts: ShardParts
  place: ShardPlace
  reader: ShardReader
  writer: ShardWriter
  work(shard: Shard<V>): Promise<void>
  /** Aborts when nothing more is taken. */
  stopping: AbortSignal
  /** Since when shards that the group gives are not loaded, ms since 1970, by their tending. */
  loading: Map<symbol, number>
}

/** The work for a shard. */
interface Tending {
  /** The shard goes to another process, which waits for the end of the work. */
  leave(): void
  /** The shard is lost. */
  lose(reason: string): void
  ended: Promise<void>
}

/** What ends it. */
type TendingEnd = Record<'leave' | 'away', AbortSignal>

/** The shards of that topic. */
export function createKafkaShards<V>(parts: ShardParts, place: ShardPlace): Shards<V> {
  const { open, closed, ready } = parts
  const inTurn = createKeyedMutex()
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
  const reader = createShardReader(parts, place.topic)
  const writer = createShardWriter(parts, place.topic, over.signal)
  const ownership = { parts, place, reader, writer, work, stopping, loading }
  /** Shards that the group gives. */
  const given = new Map<number, Tending>()
  /** Those that it gives no longer, and whose work has not ended. */
  const ending = new Map<number, Tending>()
  const faults: unknown[] = []
  /** Stands for all shards while the group does not hear this process. */
  const outside = Symbol('outside the group')

  const give = (shard: number): void => {
    const [leave, away] = [new AbortController(), new AbortController()]
    const signals = { leave: leave.signal, away: away.signal }
    // A shard that comes back while its work is ending is taken when that has ended.
    const before = ending.get(shard)?.ended ?? Promise.resolve()
    const ended = before
      .then(() => tend(ownership, shard, signals))
      .catch((error: unknown) => {
        faults.push(error)
        failed.abort(error)
      })
    given.set(shard, { leave: () => leave.abort(), lose: (reason) => away.abort(reason), ended })
  }
  const letGo = (shard: number, tending: Tending): void => {
    given.delete(shard)
    ending.set(shard, tending)
    void tending.ended.then(() => {
      if (ending.get(shard) === tending) ending.delete(shard)
    })
  }
  const assigned = (shards: readonly number[]): void => {
    if (stopping.aborted) return
    loading.delete(outside)
    const kept = new Set(shards)
    const gone = [...given].filter(([shard]) => !kept.has(shard))
    for (const [shard, tending] of gone) {
      letGo(shard, tending)
      tending.leave()
    }
    const fresh = shards.filter((shard) => shard < place.count && !given.has(shard))
    for (const shard of fresh) give(shard)
    const changed = gone.length + fresh.length
    if (changed > 0) parts.logger.info('shards.assigned', { name: place.groupId, count: given.size, changed })
  }
  const loseAll = (reason: string): void => {
    for (const { lose } of [...given.values(), ...ending.values()]) lose(reason)
  }
  const expelled = (reason: string, heardMs: number): void => {
    if (stopping.aborted) return
    loading.set(outside, heardMs)
    const gone = [...given]
    loseAll(reason)
    for (const [shard, tending] of gone) letGo(shard, tending)
    // Whoever has them next repeats what is under way now: an operator who sees repeats finds the reason here.
    if (gone.length > 0)
      parts.logger.warn('shards.lost', { name: place.groupId, count: 0, changed: gone.length, reason })
  }
  const closing = (): void => loseAll('the log is closed')
  const failing = (): void => loseAll('the work for another shard has failed')
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

/** Takes the shard and has it worked on, again and again, until it is to go or nothing more is taken. */
async function tend<V>(ownership: Ownership<V>, shard: number, end: TendingEnd): Promise<void> {
  const { parts, stopping, loading } = ownership
  const { clock } = parts
  const ended = AbortSignal.any([end.away, end.leave, stopping])
  const tending = Symbol(`shard ${shard}`)
  const setLoading = (isLoading: boolean): void => {
    if (!isLoading) loading.delete(tending)
    else if (!loading.has(tending)) loading.set(tending, clock.now())
  }
  try {
    while (!ended.aborted) {
      setLoading(true)
      await tendOnce(ownership, shard, end, setLoading)
      await sleep(clock, TAKE_AGAIN_MS, ended)
    }
  } finally {
    setLoading(false)
  }
}

/** Takes the shard once, and tells when it is loaded; resolves when it is lost, or was worked on and is to go. */
async function tendOnce<V>(
  { parts, place, reader, writer, work, stopping }: Ownership<V>,
  shard: number,
  { leave, away }: TendingEnd,
  setLoading: (isLoading: boolean) => void,
): Promise<void> {
  const { clock, logger } = parts
  const hold: ShardHold<V> = takeShard(shard, {
    writer,
    clock,
    lost: (reason) => logger.debug('shard.lost', { name: place.groupId, shard, reason }),
    // An owner that ends its work takes its time, and nothing is wrong.
    awaitingOwner: (isAwaiting) => setLoading(!isAwaiting),
  })
  const lose = (): void => hold.lose(String(away.reason))
  away.addEventListener('abort', lose, { once: true })
  leave.addEventListener('abort', hold.leave, { once: true })
  if (away.aborted) lose()
  if (leave.aborted) hold.leave()
  reader.add(shard, hold)
  try {
    const owned = await abortable(stopping, hold.owned)
    setLoading(false)
    await work(owned)
    await abortable(stopping, Promise.race([aborted(hold.lost), aborted(owned.leaving)]))
  } catch (error) {
    const isEnd = error === stopping.reason || (isBridgeError(error, 'shard_lost') && hold.lost.aborted)
    if (!isEnd) throw error
  } finally {
    away.removeEventListener('abort', lose)
    leave.removeEventListener('abort', hold.leave)
    await hold.left()
    reader.remove(shard)
    hold.lose('it was given up')
  }
}
