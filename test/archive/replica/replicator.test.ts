import { afterEach, describe, expect, it } from 'vitest'
import { RecentEvents } from '../../../src/archive/reading/recent-events.ts'
import { Replicator } from '../../../src/archive/replica/replicator.ts'
import type { Archive } from '../../../src/archive/store/archive.ts'
import type { Committed } from '../../../src/core/event.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import type { Log } from '../../../src/log/log.ts'
import { claimed, followed, sampleEvents } from '../../log/samples.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { inPlace, items, memoryArchive, never } from '../samples.ts'

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

function following(log: Log, archive: Archive, shared = false, silentSinceMs = (): number | null => null) {
  const recentEvents = new RecentEvents(archive.latest)
  const { logger, lines } = keepingLogger()
  const replicator = new Replicator({
    log,
    archive,
    recentEvents,
    clock: systemClock,
    logger,
    shared,
    silentSinceMs,
  })
  const ended = new AbortController()
  const run = replicator.run(ended.signal)
  const stop = async (): Promise<void> => {
    ended.abort()
    await run
  }
  stops.push(stop)
  /** Resolves when readers see that sequence of the current log. */
  const caughtUp = async (sequence: number): Promise<void> =>
    replicator.caughtUp(sequence, (await log.end(never)).epoch ?? '', never)
  return { recentEvents, replicator, caughtUp, stop, run, lines }
}

describe('the replicator', () => {
  it('copies committed events into the archive and the recent-events buffer, in order', async () => {
    const log = createMemoryLog()
    const archive = memoryArchive()
    const { recentEvents, replicator, caughtUp } = following(log, archive)
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(1, 900) })
    await writer.commit({ events: sampleEvents(901, 905) })
    await caughtUp(905)
    expect(archive.committed(0, 1000)).toEqual(await followed(log, 0, 905))
    expect([recentEvents.first, recentEvents.latest]).toEqual([1, 905])
    expect(replicator.lag).toEqual({ end: 905, events: 0, sinceMs: null })
  })

  it('knows when events became visible that came while it followed, and nothing of those that filled it', async () => {
    const log = createMemoryLog()
    const archive = memoryArchive()
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(1, 10) })
    const { replicator, caughtUp } = following(log, archive)
    await caughtUp(10)
    const beforeMs = systemClock.now()
    await writer.commit({ events: sampleEvents(11, 12) })
    await caughtUp(12)
    const { epoch } = archive
    const seen = [10, 11, 12].map((sequence) => replicator.applied.of(epoch ?? '', sequence))
    expect(seen.map(({ kind }) => kind)).toEqual(['not_kept', 'at', 'at'])
    for (const one of seen) if (one.kind === 'at') expect(one.atMs).toBeGreaterThanOrEqual(beforeMs)
  })

  it('continues after the last event of the archive', async () => {
    const log = createMemoryLog()
    const archive = memoryArchive()
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(1, 10) })
    const first = following(log, archive)
    await first.caughtUp(10)
    await first.stop()
    await writer.commit({ events: sampleEvents(11, 15) })
    const second = following(log, archive)
    await second.caughtUp(15)
    expect(archive.committed(0, 100)).toEqual(await followed(log, 0, 15))
  })

  it('rebuilds a replica whose last event differs from the log’s', async () => {
    const log = createMemoryLog()
    await (await claimed(log)).commit({ events: sampleEvents(1, 10) })
    const archive = memoryArchive(inPlace(items(7)))
    const { recentEvents, caughtUp } = following(log, archive)
    await caughtUp(10)
    expect(archive.committed(0, 100)).toEqual(await followed(log, 0, 10))
    expect([recentEvents.first, recentEvents.latest]).toEqual([1, 10])
  })

  it('rebuilds a replica whose last event is another one of the same epoch and sequence', async () => {
    const log = createMemoryLog()
    await (await claimed(log)).commit({ events: sampleEvents(1, 10) })
    const stored = (await followed(log, 0, 10)).slice(0, 7)
    const archive = memoryArchive(
      stored.map((event) => (event.sequence === 7 ? { ...event, id: 'other' } : event)),
    )
    const { caughtUp, lines } = following(log, archive)
    await caughtUp(10)
    expect(archive.committed(0, 100)).toEqual(await followed(log, 0, 10))
    expect(lines.map(({ event }) => event)).toEqual(['replica.rebuilt'])
  })

  it('empties a replica of another epoch before anybody may read it, even if the log has more events', async () => {
    const log = createMemoryLog()
    const { state } = await claimed(log)
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(1, 10) })
    const archive = memoryArchive(inPlace(items(7)))
    const { replicator } = following(log, archive)
    const epochs: (string | null)[] = []
    const untilComplete = replicator.replica.untilComplete(never).then(() => epochs.push(archive.epoch))
    await replicator.caughtUp(10, state.head.epoch, never)
    await untilComplete
    expect(epochs).toEqual([state.head.epoch])
  })

  it('loads the recent-events buffer from disk without delaying new events', async () => {
    const log = createMemoryLog()
    const writer = await claimed(log)
    for (let first = 1; first <= 3000; first += 1000) {
      await writer.commit({ events: sampleEvents(first, first + 999) })
    }
    const archive = memoryArchive(await followed(log, 0, 3000))
    const { recentEvents, caughtUp } = following(log, archive, true)
    archive.append((await writer.commit({ events: sampleEvents(3001, 3001) })).slice())
    await caughtUp(3001)
    while (recentEvents.first > 1) await new Promise((resolve) => setImmediate(resolve))
    expect(recentEvents.latest).toBe(3001)
    expect(recentEvents.at(1)?.json.toString()).toContain('"Item 1 ')
  })

  it('fills only the recent-events buffer when the archive is the log itself', async () => {
    const log = createMemoryLog()
    const archive = memoryArchive()
    const { recentEvents, caughtUp } = following(log, archive, true)
    const writer = await claimed(log)
    archive.append(await writer.commit({ events: sampleEvents(1, 3) }))
    await caughtUp(3)
    expect([archive.latest, recentEvents.latest]).toEqual([3, 3])
  })

  it('stops with an error when the replica cannot be written', async () => {
    const log = createMemoryLog()
    const archive = memoryArchive()
    const { run } = following(log, archive)
    stops.length = 0
    archive.db.exec('DROP TABLE events')
    await (await claimed(log)).commit({ events: sampleEvents(1, 1) })
    await expect(run).rejects.toThrow('events')
  })

  it('never takes replica events of another epoch for events of the log, even if it has more', async () => {
    const log = createMemoryLog()
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(1, 3) })
    const archive = memoryArchive(inPlace(items(7)))
    const { recentEvents, caughtUp, lines } = following(log, archive)
    await caughtUp(3)
    expect(archive.committed(0, 100)).toEqual(await followed(log, 0, 3))
    expect([recentEvents.first, recentEvents.latest]).toEqual([1, 3])
    expect(lines.map(({ event }) => event)).toEqual(['replica.rebuilt'])
  })

  it('empties a replica of another epoch before the first event of a new log', async () => {
    const log = createMemoryLog()
    const { state } = await claimed(log)
    const archive = memoryArchive(inPlace(items(7)))
    const { replicator } = following(log, archive)
    await replicator.caughtUp(0, state.head.epoch, never)
    expect([archive.latest, archive.epoch, replicator.replica.filling]).toEqual([0, null, null])
  })

  it('takes the events that a restore kept into the present epoch, and knows what the epochs share', async () => {
    const log = createMemoryLog()
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(1, 20) })
    const { epoch } = writer.state.head
    const restored = restoredLog(log, { writtenBefore: 'Before01', through: 12 })
    const archive = memoryArchive()
    const { caughtUp, stop, lines } = following(restored, archive)
    await caughtUp(20)
    expect(archive.committed(0, 100)).toEqual(await followed(log, 0, 20))
    expect([archive.sharedThrough('Before01'), archive.sharedThrough(epoch)]).toEqual([12, 12])
    await stop()
    const again = following(restored, archive)
    await writer.commit({ events: sampleEvents(21, 22) })
    await again.caughtUp(22)
    expect([archive.epoch, archive.latest, lines, again.lines]).toEqual([epoch, 22, [], []])
  })

  it('fills a replica of the epoch before a restore again', async () => {
    const log = createMemoryLog()
    await (await claimed(log)).commit({ events: sampleEvents(1, 20) })
    const archive = memoryArchive(
      (await followed(log, 0, 20)).slice(0, 15).map((event) => ({ ...event, epoch: 'Before01' })),
    )
    const { caughtUp, lines } = following(
      restoredLog(log, { writtenBefore: 'Before01', through: 12 }),
      archive,
    )
    await caughtUp(20)
    expect(archive.committed(0, 100)).toEqual(await followed(log, 0, 20))
    expect(lines.map(({ event }) => event)).toEqual(['replica.rebuilt'])
  })

  it('rejects a wait for another epoch than the replica follows', async () => {
    const log = createMemoryLog()
    const archive = memoryArchive()
    const { replicator, caughtUp } = following(log, archive)
    await (await claimed(log)).commit({ events: sampleEvents(1, 3) })
    await caughtUp(3)
    await expect(replicator.caughtUp(3, 'otherone', never)).rejects.toMatchObject({ code: 'log_damaged' })
  })

  it('starts at the first retained event of a log that dropped its first events', async () => {
    const log = createMemoryLog()
    await (await claimed(log)).commit({ events: sampleEvents(1, 900) })
    const archive = memoryArchive()
    const { recentEvents, caughtUp } = following(keptFrom(log, 401), archive)
    await caughtUp(900)
    expect([archive.oldest, archive.latest, recentEvents.first, recentEvents.latest]).toEqual([
      401, 900, 401, 900,
    ])
    expect(archive.committed(0, 1000)).toEqual(await followed(log, 400, 500))
  })

  it('skips events that were all dropped, and continues with the next', async () => {
    const log = createMemoryLog()
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(1, 20) })
    const dropped: Log = {
      ...keptFrom(log, 21),
      end: async (signal) => ({ ...(await log.end(signal)), allDropped: true }),
    }
    const held = memoryArchive((await followed(log, 0, 20)).slice(0, 20))
    const copies = [held, memoryArchive(), memoryArchive((await followed(log, 0, 5)).slice(0, 5))]
    const followers = copies.map((archive) => following(dropped, archive))
    for (const { caughtUp, replicator } of followers) {
      await caughtUp(20)
      expect(replicator.replica.filling).toBe(null)
    }
    await writer.commit({ events: sampleEvents(21, 22) })
    for (const { caughtUp } of followers) await caughtUp(22)
    expect(copies.map(({ oldest, latest }) => [oldest, latest])).toEqual([
      [1, 22],
      [21, 22],
      [21, 22],
    ])
  })

  it('rebuilds a replica that ends before the log’s first event, at start and while running', async () => {
    const log = createMemoryLog()
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(1, 20) })
    const archive = memoryArchive((await followed(log, 0, 5)).slice(0, 5))
    const atStart = following(keptFrom(log, 11), archive)
    await atStart.caughtUp(20)
    expect([archive.oldest, archive.latest, atStart.recentEvents.first]).toEqual([11, 20, 11])
    await atStart.stop()
    let kept = 1
    const running = following(
      { ...log, follow: (after, signal) => dropping(log.follow(after, signal), () => kept) },
      archive,
    )
    await running.caughtUp(20)
    kept = 26
    await writer.commit({ events: sampleEvents(21, 30) })
    await running.caughtUp(30)
    expect([archive.oldest, archive.latest, running.recentEvents.first]).toEqual([26, 30, 26])
  })

  it('reports lag for as long as the log does not respond', async () => {
    const log = createMemoryLog()
    await (await claimed(log)).commit({ events: sampleEvents(1, 3) })
    let silentMs: number | null = null
    const { replicator, caughtUp } = following(log, memoryArchive(), false, () => silentMs)
    await caughtUp(3)
    expect(replicator.lag).toEqual({ end: 3, events: 0, sinceMs: null })
    silentMs = 1234
    expect(replicator.lag).toEqual({ end: 3, events: null, sinceMs: 1234 })
    expect(replicator.replica.filling).toBeNull()
  })

  it('reports its progress, and nothing before it was compared with the log', async () => {
    const log = createMemoryLog()
    await (await claimed(log)).commit({ events: sampleEvents(1, 1000) })
    const asked = Promise.withResolvers<void>()
    const going = Promise.withResolvers<void>()
    const slow: Log = {
      ...log,
      end: (signal) => asked.promise.then(() => log.end(signal)),
      async *follow(after, signal) {
        await going.promise
        yield* log.follow(after, signal)
      },
    }
    const archive = memoryArchive((await followed(log, 0, 500)).slice(0, 500))
    const { replicator } = following(slow, archive)
    const { epoch } = await log.end(never)
    const seen = replicator.caughtUp(500, String(epoch), never)
    expect(replicator.replica.filling).toEqual({ sequence: 500, goal: null, share: 0 })
    expect([replicator.hasHeard, replicator.lag.events, replicator.lagMs]).toEqual([false, null, null])
    asked.resolve()
    await seen
    expect(replicator.replica.filling).toEqual({ sequence: 500, goal: 1000, share: 0.5 })
    expect([replicator.hasHeard, replicator.lag.events]).toEqual([true, 500])
    going.resolve()
    await replicator.caughtUp(1000, String(epoch), never)
    expect(replicator.replica.filling).toBe(null)
  })
})

/** The log after everything before `oldest` was dropped by age. */
function keptFrom(log: Log, oldest: number): Log {
  return { ...log, follow: (after, signal) => log.follow(Math.max(after, oldest - 1), signal) }
}

async function* dropping(
  batches: AsyncIterable<Committed[]>,
  oldest: () => number,
): AsyncGenerator<Committed[]> {
  for await (const batch of batches) yield batch.filter(({ sequence }) => sequence >= oldest())
}

/** A log on Kafka after a restore that kept the events up to `through`, which were written in an earlier epoch. */
function restoredLog(log: Log, kept: { writtenBefore: string; through: number }): Log {
  const { writtenBefore, through } = kept
  const earlier = { through, epochs: { [writtenBefore]: through } }
  return {
    ...log,
    end: async (signal) => ({ ...(await log.end(signal)), earlier }),
    async *follow(after, signal) {
      for await (const batch of log.follow(after, signal)) {
        yield batch.map((event) => (event.sequence <= through ? { ...event, epoch: writtenBefore } : event))
      }
    },
  }
}
