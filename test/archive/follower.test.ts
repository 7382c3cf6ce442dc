import { afterEach, describe, expect, it } from 'vitest'
import type { Archive } from '../../src/archive/archive.ts'
import { createFollower } from '../../src/archive/follower.ts'
import { createTail } from '../../src/archive/tail.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import type { Log } from '../../src/log/log.ts'
import { createMemoryLog } from '../../src/log/memory/log.ts'
import { claimed, followed, sampleEvents } from '../log/samples.ts'
import { inPlace, items, memoryArchive, never } from './samples.ts'

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

function following(log: Log, archive: Archive, shared = false) {
  const tail = createTail(archive.latest)
  const follower = createFollower({ log, archive, tail, clock: systemClock, shared })
  const ended = new AbortController()
  const run = follower.run(ended.signal)
  const stop = async (): Promise<void> => {
    ended.abort()
    await run
  }
  stops.push(stop)
  return { tail, follower, stop, run }
}

describe('the follower', () => {
  it('copies what is committed into the archive and the tail, in order', async () => {
    const log = createMemoryLog()
    const archive = memoryArchive()
    const { tail, follower } = following(log, archive)
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(1, 900) })
    await writer.commit({ events: sampleEvents(901, 905) })
    await follower.caughtUp(905, never)
    expect(archive.committed(0, 1000)).toEqual(await followed(log, 0, 905))
    expect([tail.first, tail.latest]).toEqual([1, 905])
    expect(follower.lag).toEqual({ events: 0, sinceMs: null })
  })

  it('goes on after what the archive holds', async () => {
    const log = createMemoryLog()
    const archive = memoryArchive()
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(1, 10) })
    const first = following(log, archive)
    await first.follower.caughtUp(10, never)
    await first.stop()
    await writer.commit({ events: sampleEvents(11, 15) })
    const second = following(log, archive)
    await second.follower.caughtUp(15, never)
    expect(archive.committed(0, 100)).toEqual(await followed(log, 0, 15))
  })

  it('rebuilds a copy whose last event is not the one of the log', async () => {
    const log = createMemoryLog()
    await (await claimed(log)).commit({ events: sampleEvents(1, 10) })
    const archive = memoryArchive(inPlace(items(7)))
    const { follower, tail } = following(log, archive)
    await follower.caughtUp(10, never)
    expect(archive.committed(0, 100)).toEqual(await followed(log, 0, 10))
    expect([tail.first, tail.latest]).toEqual([1, 10])
  })

  it('warms the tail with what is on disk, without holding up what is new', async () => {
    const log = createMemoryLog()
    const writer = await claimed(log)
    for (let first = 1; first <= 3000; first += 1000) {
      await writer.commit({ events: sampleEvents(first, first + 999) })
    }
    const archive = memoryArchive(await followed(log, 0, 3000))
    const { tail, follower } = following(log, archive, true)
    archive.append((await writer.commit({ events: sampleEvents(3001, 3001) })).slice())
    await follower.caughtUp(3001, never)
    while (tail.first > 1) await new Promise((resolve) => setImmediate(resolve))
    expect(tail.latest).toBe(3001)
    expect(tail.at(1)?.json.toString()).toContain('"Item 1 ')
  })

  it('only fills the tail where the archive is the log itself', async () => {
    const log = createMemoryLog()
    const archive = memoryArchive()
    const { follower, tail } = following(log, archive, true)
    const writer = await claimed(log)
    archive.append(await writer.commit({ events: sampleEvents(1, 3) }))
    await follower.caughtUp(3, never)
    expect([archive.latest, tail.latest]).toEqual([3, 3])
  })

  it('fails loudly when the copy cannot be written', async () => {
    const log = createMemoryLog()
    const archive = memoryArchive()
    const { run } = following(log, archive)
    stops.length = 0
    archive.db.exec('DROP TABLE events')
    await (await claimed(log)).commit({ events: sampleEvents(1, 1) })
    await expect(run).rejects.toThrow('events')
  })
})
