/** Tests shards and journals in the embedded log's file: restarts, a full disk, group commit, deletion in steps. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { DAY_MS } from '../../src/core/durations.ts'
import { type Clock, systemClock } from '../../src/lifecycle/clock.ts'
import type { Log } from '../../src/log/log.ts'
import type { Shard } from '../../src/log/shards.ts'
import { APART_MS, createGroupCommit, MOST_APART_MS } from '../../src/log-embedded/group-commit.ts'
import { openSqliteLog } from '../../src/log-embedded/log.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import { openDatabase } from '../../src/storage/database.ts'
import { describeJournals, journalled } from '../log/journals.ts'
import { beginOwning, foundBy, putRow, type Row } from '../log/owning.ts'
import { describeRetention } from '../log/retention.ts'
import { describeShards } from '../log/shards.ts'
import { metric } from '../support/metric.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const folders: string[] = []
const opened: Log[] = []

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-shards-'))
  folders.push(folder)
  return folder
}

function open(dataDir: string, clock: Clock = systemClock) {
  const both = openSqliteLog({ dataDir, nativeKind: 'Native', clock })
  opened.push(both.log)
  return both
}

afterEach(async () => {
  for (const log of opened.splice(0)) await log.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

describeShards('embedded', () => open(newFolder()).log)
describeJournals('embedded', () => open(newFolder()).log)
describeRetention('embedded', (clock) => open(newFolder(), clock).log)

describe('shards and journals in a file', () => {
  it('keep every acknowledged write over a restart', async () => {
    const dataDir = newFolder()
    const first = open(dataDir).log
    const owner = beginOwning(first, 'words', 2)
    const shard = await owner.shard(1)
    const tries = first.journal<number>('tries', DAY_MS)
    await tries.append([1])
    const { batches } = await journalled(tries, null, 1)
    const last = Promise.all([putRow(shard, 'a', 1), tries.append([2])])
    await first.close()
    await last
    const second = open(dataDir).log
    expect(await foundBy(second, 'words', 2)).toEqual([{}, { a: 1 }])
    const again = second.journal<number>('tries', DAY_MS)
    await again.append([3])
    expect((await journalled(again, batches.at(-1)?.position ?? null, 2)).records).toEqual([2, 3])
  })

  it('report a full disk, write nothing of a failed call, and continue when there is space', async () => {
    const { log, archive } = open(newFolder())
    const owner = beginOwning(log, 'words', 1)
    const shard: Shard<Row> = await owner.shard(0)
    await putRow(shard, 'a', 1)
    const tries = log.journal<string>('tries', DAY_MS)
    archive.db.exec('PRAGMA max_page_count = 1')
    const large = 'x'.repeat(100_000)
    const full = expect.objectContaining({
      code: 'log_unavailable',
      hint: expect.stringContaining('free space'),
    })
    for (let n = 0; n < 2; n++) {
      const failing = [putRow(shard, 'b', large), putRow(shard, 'c', large), tries.append([large])]
      for (const result of await Promise.allSettled(failing)) expect(result).toMatchObject({ reason: full })
    }
    archive.db.exec('PRAGMA max_page_count = 1000000')
    await putRow(shard, 'd', 1)
    await tries.append(['room'])
    expect((await journalled(tries, null, 1)).records).toEqual(['room'])
    await owner.stop()
    expect(await foundBy(log, 'words', 1)).toEqual([{ a: 1, d: 1 }])
  })

  it('delete old records a few at a time, and all of them in the end', async () => {
    const clock = createManualClock()
    const { log, archive } = open(newFolder(), clock)
    const tries = log.journal<number>('tries', DAY_MS)
    const append = async (...records: number[]): Promise<number> => {
      const appended = tries.append(records)
      clock.advance(20)
      await appended
      return Number(archive.db.prepare<{ rows: number }>('SELECT count(*) AS rows FROM journals').get()?.rows)
    }
    expect(await append(...Array(100).keys())).toBe(100)
    clock.advance(DAY_MS)
    const counts: number[] = []
    for (let n = 0; n < 40; n++) counts.push(await append(n))
    expect(counts.slice(0, 3)).toEqual([97, 94, 91])
    expect(counts.at(-1)).toBe(40)
  })

  it('delete old records of a journal that is only read', async () => {
    const clock = createManualClock()
    const { log, archive } = open(newFolder(), clock)
    const tries = log.journal<number>('tries', DAY_MS)
    const left = () => archive.db.prepare<{ id: number }>('SELECT id FROM journals').all().length
    const append = async (...records: number[]): Promise<void> => {
      const appended = tries.append(records)
      clock.advance(20)
      await appended
    }
    await append(...Array(500).keys())
    clock.advance(DAY_MS / 2)
    await append(1, 2)
    expect(left()).toBe(502)
    clock.advance(DAY_MS / 2)
    const reading = new AbortController()
    const { batches } = await journalled(tries, null, 2)
    const rest = tries
      .read(batches.at(-1)?.position ?? null, reading.signal)
      [Symbol.asyncIterator]()
      .next()
    for (let turn = 0; turn < 20 && left() > 2; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
      clock.advance(20)
    }
    expect(left()).toBe(2)
    reading.abort()
    await rest
  })
})

describe('group commit', () => {
  it('puts concurrent writes into one transaction; none waits longer than 10 ms', async () => {
    const db = openDatabase({ path: ':memory:', durable: false })
    const clock = createManualClock()
    let transactions = 0
    const transaction = <T>(work: () => T): T => {
      transactions++
      return db.transaction(work)
    }
    const commits = createGroupCommit({ ...db, transaction }, clock)
    const order: number[] = []
    const writes = [1, 2, 3].map((n) => commits.run(() => void order.push(n)))
    clock.advance(0)
    await Promise.all(writes)
    const late = commits.run(() => void order.push(4))
    clock.advance(4)
    expect(order).toEqual([1, 2, 3])
    const later = commits.run(() => void order.push(5))
    clock.advance(6)
    await Promise.all([late, later])
    expect([order, transactions]).toEqual([[1, 2, 3, 4, 5], 2])
    clock.set(clock.now() - DAY_MS)
    const backwards = commits.run(() => void order.push(6))
    clock.advance(10)
    await backwards
    db.close()
  })

  it('adapts its interval so that writing takes a twentieth of the time, and commits at once after an idle time', async () => {
    const db = openDatabase({ path: ':memory:', durable: false })
    const clock = createManualClock()
    let takesMs = 0
    const transaction = <T>(work: () => T): T => {
      clock.set(clock.now() + takesMs)
      return db.transaction(work)
    }
    const commits = createGroupCommit({ ...db, transaction }, clock)
    /** The interval between the starts of successive writes. */
    const apartAfter = async (count: number): Promise<number> => {
      let apartMs = 0
      for (let n = 0; n < count; n++) {
        let isWritten = false
        const written = commits.run(() => {
          isWritten = true
        })
        for (apartMs = takesMs; !isWritten; apartMs++) clock.advance(1)
        await written
      }
      return apartMs - takesMs
    }
    expect(await apartAfter(10)).toBe(APART_MS)
    takesMs = 2
    const apart2 = await apartAfter(50)
    takesMs = 30
    const apart30 = await apartAfter(50)
    takesMs = 0
    expect([apart2, apart30, await apartAfter(100)]).toEqual([40, MOST_APART_MS, APART_MS])
    clock.advance(MOST_APART_MS)
    takesMs = 30
    await apartAfter(50)
    clock.advance(MOST_APART_MS)
    let isSoon = false
    const first = commits.run(() => {
      isSoon = true
    })
    clock.advance(0)
    await first
    expect(isSoon).toBe(true)
    db.close()
  })

  it('measures how many writes wait, and how long each did, whether it was written or not', async () => {
    const db = openDatabase({ path: ':memory:', durable: false })
    db.exec('CREATE TABLE words(word TEXT PRIMARY KEY)')
    const clock = createManualClock()
    const metrics = createMetrics({ version: '0' })
    const commits = createGroupCommit(db, clock, metrics)
    const put = (word: string): Promise<void> =>
      commits.run(() => db.prepare('INSERT INTO words(word) VALUES (?)').run(word))
    await Promise.all([put('a'), clock.advance(0)])
    const later = [put('a'), put('b')]
    clock.advance(5)
    expect(await metric({ metrics }, 'group_commit_waiting')).toBe(2)
    clock.advance(5)
    await Promise.allSettled(later)
    expect(await metric({ metrics }, 'group_commit_waiting')).toBe(0)
    expect(await metric({ metrics }, 'group_commit_wait_seconds_count')).toBe(3)
    expect(await metric({ metrics }, 'group_commit_wait_seconds_bucket{le="0.005"}')).toBe(1)
    expect(await metric({ metrics }, 'group_commit_wait_seconds_bucket{le="0.01"}')).toBe(3)
    db.close()
  })

  it('writes each call alone if one of a transaction fails, so that none is refused for another', async () => {
    const clock = createManualClock()
    const db = openDatabase({ path: ':memory:', durable: false })
    db.exec('CREATE TABLE words(word TEXT PRIMARY KEY)')
    const commits = createGroupCommit(db, clock)
    const put = (word: string): Promise<void> =>
      commits.run(() => db.prepare('INSERT INTO words(word) VALUES (?)').run(word))
    const writes = Promise.allSettled(['a', 'b', 'a', 'c'].map(put))
    clock.advance(0)
    expect((await writes).map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(
      db
        .prepare<{ word: string }>('SELECT word FROM words')
        .all()
        .map(({ word }) => word),
    ).toEqual(['a', 'b', 'c'])
    db.close()
  })
})
