import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { contentHash } from '../../src/core/disclosure.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { backUp } from '../../src/log-embedded/backup.ts'
import { checkContents } from '../../src/log-embedded/contents.ts'
import { openDatabase } from '../../src/storage/database.ts'
import { claimed, sampleEvent, sampleEvents } from '../log/samples.ts'
import { createLogFolders } from './logs.ts'

const logs = createLogFolders()
afterEach(() => logs.clean())

const backUpTo = (dataDir: string, target: string) => backUp({ dataDir, target, clock: systemClock })

/** Checks a backup file as a restore does. */
function contentsOf(path: string) {
  const db = openDatabase({ path, durable: false })
  try {
    return checkContents(db)
  } finally {
    db.close()
  }
}

describe('a backup', () => {
  it('is complete as of one moment while the log is being written, and says what it holds', async () => {
    const dataDir = logs.folder()
    const writer = await claimed(logs.open(dataDir).log)
    await writer.commit({ events: sampleEvents(1, 1000) })
    const target = join(logs.folder(), 'one.db')
    let done = false
    const backing = backUpTo(dataDir, target).finally(() => {
      done = true
    })
    let last = 1000
    for (; !done || last < 1010; last++) {
      await writer.commit({ events: [sampleEvent(last + 1)] })
      await new Promise((resolve) => setImmediate(resolve))
    }
    const backup = await backing
    expect(backup).toMatchObject({
      file: target,
      epoch: writer.state.head.epoch,
      bytes: statSync(target).size,
    })
    expect(backup.sequence).toBeGreaterThanOrEqual(1000)
    expect(backup.sequence).toBeLessThanOrEqual(last)
    expect(backup.time).toBe(sampleEvent(backup.sequence).time)
    const { file: _, bytes: _bytes, ...contents } = backup
    expect(contentsOf(target)).toEqual(contents)
    expect(Math.abs(Date.parse(contents.takenAt ?? '') - Date.now())).toBeLessThan(60_000)
  })

  it('is one file that needs no other, and leaves none beside it', async () => {
    const dataDir = logs.folder()
    await (await claimed(logs.open(dataDir).log)).commit({ events: sampleEvents(1, 3) })
    const folder = logs.folder()
    await backUpTo(dataDir, join(folder, 'one.db'))
    expect(readdirSync(folder)).toEqual(['one.db'])
    // Bytes 18 and 19 of a database file: 1 without a write-ahead log.
    expect([...readFileSync(join(folder, 'one.db')).subarray(18, 20)]).toEqual([1, 1])
  })

  it('into a directory gets a name from the time, so that each is another file', async () => {
    const dataDir = logs.folder()
    await (await claimed(logs.open(dataDir).log)).commit({ events: sampleEvents(1, 3) })
    const folder = logs.folder()
    const first = await backUpTo(dataDir, folder)
    expect(first.file).toMatch(/\/bridge-\d{8}T\d{9}Z\.db$/)
    mkdirSync(join(folder, 'backups'))
    const deep = await backUpTo(dataDir, `${folder}/backups/`)
    expect(deep.file).toMatch(/\/backups\/bridge-/)
  })

  it('into a directory that does not exist is refused: it may be a volume that is not mounted', async () => {
    const dataDir = logs.folder()
    await (await claimed(logs.open(dataDir).log)).commit({ events: sampleEvents(1, 3) })
    const gone = join(logs.folder(), 'backups')
    for (const target of [`${gone}/`, join(gone, 'one.db')]) {
      await expect(backUpTo(dataDir, target)).rejects.toMatchObject({
        code: 'failed',
        message: `the directory of the backup, ${gone}, does not exist`,
        hint: expect.stringContaining('Mount'),
      })
    }
    expect(existsSync(gone)).toBe(false)
  })

  it('of a log that was never used holds no event and no epoch', async () => {
    const dataDir = logs.folder()
    logs.open(dataDir)
    const backup = await backUpTo(dataDir, join(logs.folder(), 'one.db'))
    expect(backup).toMatchObject({ epoch: null, sequence: 0, time: null })
  })

  it('never overwrites a file, and needs a log', async () => {
    const dataDir = logs.folder()
    const file = join(logs.folder(), 'mine.txt')
    await expect(backUpTo(dataDir, file)).rejects.toMatchObject({ code: 'failed' })
    await (await claimed(logs.open(dataDir).log)).commit({ events: sampleEvents(1, 3) })
    writeFileSync(file, 'mine')
    await expect(backUpTo(dataDir, file)).rejects.toMatchObject({ code: 'failed' })
    expect(readFileSync(file, 'utf8')).toBe('mine')
  })

  it('of a log whose hashes are of a build that left out digits of large numbers is whole', async () => {
    const dataDir = logs.folder()
    const { log, archive } = logs.open(dataDir)
    await (await claimed(log)).commit({ events: sampleEvents(1, 3) })
    const data = '{"size":12345678901234567891}'
    archive.db.prepare('UPDATE events SET data = ? WHERE sequence = 2').run(data)
    const earlier = contentHash(JSON.parse(data))
    expect(earlier).not.toBe(contentHash(JSON.parse(data), data))
    archive.db.prepare('UPDATE facts SET hash = ? WHERE sequence = 2').run(earlier)
    const folder = logs.folder()
    expect(await backUpTo(dataDir, join(folder, 'one.db'))).toMatchObject({ sequence: 3 })
  })

  it('of a damaged log fails, and leaves no file', async () => {
    const dataDir = logs.folder()
    const { log, archive } = logs.open(dataDir)
    await (await claimed(log)).commit({ events: sampleEvents(1, 9) })
    archive.db.exec('DELETE FROM events WHERE sequence = 5')
    const folder = logs.folder()
    const backing = backUpTo(dataDir, join(folder, 'one.db'))
    await expect(backing).rejects.toMatchObject({
      code: 'log_damaged',
      message: 'the table events has 8 of the events 1 to 9',
    })
    expect(readdirSync(folder)).toEqual([])
  })
})
