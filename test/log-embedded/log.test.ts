import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/lifecycle/clock.ts'
import type { FaultHooks } from '../../src/log/fault-hooks.ts'
import type { Log } from '../../src/log/log.ts'
import { openSqliteLog } from '../../src/log-embedded/log.ts'
import { openDatabase } from '../../src/storage/database.ts'
import { describeLog } from '../log/conformance.ts'
import {
  claimed,
  followed,
  START_MS,
  sampleEvent,
  sampleEvents,
  sampleRejected,
  sequencesOf,
} from '../log/samples.ts'
import { newestRejected } from '../support/newest-rejected.ts'

const folders: string[] = []
const opened: Log[] = []

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-log-'))
  folders.push(folder)
  return folder
}

function open(dataDir: string, faultHooks: FaultHooks = {}) {
  const both = openSqliteLog({ dataDir, nativeKind: 'Native', clock: systemClock, faultHooks })
  opened.push(both.log)
  return both
}

afterEach(async () => {
  for (const log of opened.splice(0)) await log.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

describeLog('embedded', (faultHooks) => open(newFolder(), faultHooks).log)

describe('the embedded log on disk', () => {
  it('reopened holds all committed events, and continues after them', async () => {
    const dataDir = newFolder()
    const first = open(dataDir).log
    const writer = await claimed(first)
    await writer.spend(1, 'poll', START_MS)
    await writer.commit({ events: sampleEvents(1, 3), rejected: [sampleRejected(1)], head: { cursor: 'c' } })
    await first.table('tokens').put('a', { name: 'one' })
    const before = writer.state
    await first.close()
    const { log, archive } = open(dataDir)
    expect(archive.epoch).toBe(before.head.epoch)
    const next = await claimed(log)
    expect(next.state).toEqual(before)
    await next.commit({ events: [sampleEvent(4)] })
    expect(sequencesOf(await followed(log, 0, 4))).toEqual([1, 2, 3, 4])
    expect(await newestRejected(log, 5)).toEqual([sampleRejected(1)])
    expect(await log.table('tokens').load()).toEqual(new Map([['a', { name: 'one' }]]))
  })

  it('creates a missing data directory', () => {
    expect(open(join(newFolder(), 'deep', 'data')).log.kind).toBe('embedded')
  })

  it('refuses a second opening of the same directory, naming the first', async () => {
    const dataDir = newFolder()
    const first = open(dataDir).log
    expect(() => open(dataDir)).toThrow(
      expect.objectContaining({
        code: 'log_locked',
        message: expect.stringContaining(`process ${process.pid} on `),
        hint: expect.stringContaining('BRIDGE_DATA_DIR'),
      }),
    )
    await first.close()
    expect(open(dataDir).log.kind).toBe('embedded')
  })

  it.each(['events', 'rejected', 'writer'])(
    'stores a commit as a whole or not at all, also if the table %s refuses its rows',
    async (table) => {
      const { log, archive } = open(newFolder())
      const writer = await claimed(log)
      await writer.commit({ events: sampleEvents(1, 2), head: { cursor: 'one' } })
      const refusal = "BEGIN SELECT RAISE(ABORT, 'refused'); END"
      archive.db.exec(`CREATE TRIGGER refuse BEFORE INSERT ON ${table} ${refusal}`)
      const commit = { events: [sampleEvent(3)], rejected: [sampleRejected(1)], head: { cursor: 'two' } }
      await expect(writer.commit(commit)).rejects.toThrow('refused')
      archive.db.exec('DROP TRIGGER refuse')
      expect(archive.latest).toBe(2)
      expect(await newestRejected(log, 9)).toEqual([])
      expect((await claimed(log)).state.head).toMatchObject({ sequence: 2, cursor: 'one' })
    },
  )

  it('flushes each commit to the disk before it resolves, so that a loss of power loses none', () => {
    const { db } = open(newFolder()).archive
    const setting = (name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})
    // sqlite.org/pragma.html#pragma_synchronous: with a write-ahead log only FULL (2) syncs at each commit.
    expect({ mode: setting('journal_mode'), flush: setting('synchronous') }).toEqual({
      mode: ['wal'],
      flush: [2],
    })
  })

  it('takes nothing while its directory was deleted or moved, and goes on once it is back', async () => {
    const folder = newFolder()
    const dataDir = join(folder, 'data')
    const { log, archive } = open(dataDir)
    const first = await claimed(log)
    await first.commit({ events: sampleEvents(1, 2) })
    renameSync(dataDir, join(folder, 'moved'))
    const refused = {
      code: 'log_unavailable',
      message: expect.stringContaining(`${join(dataDir, 'bridge.db')} was deleted or replaced`),
      hint: expect.stringContaining('move it back'),
    }
    await expect(first.commit({ events: [sampleEvent(3)] })).rejects.toMatchObject({
      ...refused,
      code: 'log_unknown',
    })
    await expect(claimed(log)).rejects.toMatchObject(refused)
    await expect(log.table('any').put('key', 1)).rejects.toMatchObject(refused)
    expect(sequencesOf(archive.committed(0, 10))).toEqual([1, 2])
    mkdirSync(dataDir)
    copyFileSync(join(folder, 'moved', 'bridge.db'), join(dataDir, 'bridge.db'))
    await expect(claimed(log)).rejects.toMatchObject(refused)
    rmSync(dataDir, { recursive: true })
    renameSync(join(folder, 'moved'), dataDir)
    await (await claimed(log)).commit({ events: [sampleEvent(3)] })
    expect(sequencesOf(archive.committed(0, 10))).toEqual([1, 2, 3])
  })

  it('overwrites what is deleted, so that a deleted address cannot be read from the file', () => {
    const { db } = open(newFolder()).archive
    expect(db.prepare('PRAGMA secure_delete').get()).toEqual({ secure_delete: 1 })
  })

  it('reads the state of a version that knew fewer fields', async () => {
    const dataDir = newFolder()
    const { log, archive } = open(dataDir)
    await claimed(log)
    archive.db.exec("DELETE FROM writer WHERE key IN ('head/sweep', 'head/latestTimeMs')")
    expect((await claimed(log)).state.head).toMatchObject({ sweep: null, latestTimeMs: 0 })
  })
})

describe('a damaged embedded log', () => {
  const damaged = expect.objectContaining({ code: 'log_damaged', hint: expect.any(String) })

  it('refuses to open a file that is no database', () => {
    const dataDir = newFolder()
    writeFileSync(
      join(dataDir, 'bridge.db'),
      'this is a text file, and long enough to be looked at\n'.repeat(99),
    )
    expect(() => open(dataDir)).toThrow(damaged)
  })

  it('releases the data directory when opening failed', () => {
    const dataDir = newFolder()
    writeFileSync(join(dataDir, 'bridge.db'), 'no database\n'.repeat(99))
    expect(() => open(dataDir)).toThrow(damaged)
    rmSync(join(dataDir, 'bridge.db'))
    expect(open(dataDir).log.kind).toBe('embedded')
  })

  it('refuses a store of a newer version', async () => {
    const dataDir = newFolder()
    await open(dataDir).log.close()
    const db = openDatabase({ path: join(dataDir, 'bridge.db'), durable: false })
    db.exec('PRAGMA user_version = 99')
    db.close()
    expect(() => open(dataDir)).toThrow(damaged)
  })

  it('refuses a claim when the state is empty and events exist', async () => {
    const { log, archive } = open(newFolder())
    await (await claimed(log)).commit({ events: [sampleEvent(1)] })
    archive.db.exec('DELETE FROM writer')
    await expect(claimed(log)).rejects.toEqual(damaged)
  })

  it('refuses a claim when events that the state knows are missing', async () => {
    const dataDir = newFolder()
    const { log, archive } = open(dataDir)
    await (await claimed(log)).commit({ events: sampleEvents(1, 2) })
    archive.db.exec('DELETE FROM events WHERE sequence = 2')
    await log.close()
    await expect(claimed(open(dataDir).log)).rejects.toEqual(damaged)
  })

  it('reports garbage pages in the middle of the file instead of serving them', async () => {
    const dataDir = newFolder()
    const { log } = open(dataDir)
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(1, 1000) })
    await log.close()
    const file = join(dataDir, 'bridge.db')
    const bytes = readFileSync(file)
    bytes.fill(0xa5, 8192 * 4, statSync(file).size)
    writeFileSync(file, bytes)
    const read = async (): Promise<unknown> => {
      const again = open(dataDir)
      return followed(again.log, 0, 1000)
    }
    await expect(read()).rejects.toEqual(damaged)
  })
})

describe('a data directory', () => {
  it.each([
    ['is a file', () => join(newFolder(), 'file'), true],
    ['is below a file', () => join(newFolder(), 'file', 'deeper'), true],
    ['cannot be created', () => '/proc/none/deeper', false],
  ])('that %s is a wrong setting', (_name, pathOf, makesFile) => {
    const path = pathOf()
    if (makesFile) writeFileSync(path.replace(/file.*$/, 'file'), '')
    expect(() => open(path)).toThrow(
      expect.objectContaining({ code: 'settings', hint: expect.stringContaining('BRIDGE_DATA_DIR') }),
    )
  })

  it('several levels deep is created', () => {
    expect(() => open(join(newFolder(), 'a', 'b', 'c'))).not.toThrow()
  })
})
