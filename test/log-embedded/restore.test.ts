import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { eventsBetween } from '../../src/archive/reading/query.ts'
import { createReader } from '../../src/archive/reading/reader.ts'
import { RecentEvents } from '../../src/archive/reading/recent-events.ts'
import { resumeAt } from '../../src/archive/reading/resume.ts'
import type { Archive } from '../../src/archive/store/archive.ts'
import { decodeCursor } from '../../src/core/cursor.ts'
import type { PollerWriter } from '../../src/ingest/writer-state/poller-writer.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { COMMIT_LIMIT, type RowChanges } from '../../src/log/events.ts'
import { backUp } from '../../src/log-embedded/backup.ts'
import { stageRestore } from '../../src/log-embedded/restore.ts'
import { claimed, followed, sampleEvent, sampleEvents, sequencesOf } from '../log/samples.ts'
import { createLogFolders } from './logs.ts'

const logs = createLogFolders()
afterEach(() => logs.clean())

const NO_ROWS: RowChanges = new Map()

function stage(dataDir: string, backup: string) {
  return stageRestore({ dataDir, backup, nativeKind: 'Native', clock: systemClock })
}

/** Restores and returns what `replace` returned. */
function restore(dataDir: string, backup: string, rows: RowChanges = NO_ROWS) {
  const staged = stage(dataDir, backup)
  try {
    return { ...staged.replace(rows), present: staged.present }
  } finally {
    staged.release()
  }
}

async function commitAll(writer: PollerWriter, from: number, to: number): Promise<void> {
  for (let first = from; first <= to; first += COMMIT_LIMIT) {
    await writer.commit({ events: sampleEvents(first, Math.min(to, first + COMMIT_LIMIT - 1)) })
  }
}

/** A closed log with `count` events, of which a backup holds the first `backedUp`. */
async function backedUpLog(backedUp: number, count: number) {
  const dataDir = logs.folder()
  const backup = join(logs.folder(), 'one.db')
  const { log, archive } = logs.open(dataDir)
  const writer = await claimed(log)
  await writer.spend(1, 'poll', Date.now())
  await writer.commit({ events: sampleEvents(1, backedUp), head: { cursor: 'c' } })
  await log.table('tokens').put('a', { name: 'one' })
  await backUp({ dataDir, target: backup, clock: systemClock })
  await commitAll(writer, backedUp + 1, count)
  const { epoch } = writer.state.head
  const cursorAt = new Map(eventsBetween(archive, 0, count).map(({ sequence, cursor }) => [sequence, cursor]))
  await log.close()
  return { dataDir, backup, epoch, cursorAt }
}

const readerOf = (archive: Archive) => createReader(archive, new RecentEvents(archive.latest), systemClock)

describe('a restore', () => {
  it('keeps the events of the backup in a new epoch, and the log goes on after them', async () => {
    const { dataDir, backup, epoch } = await backedUpLog(30, 50)
    const restored = restore(dataDir, backup)
    expect(restored.epoch).not.toBe(epoch)
    const { log, archive } = logs.open(dataDir)
    expect([archive.epoch, archive.latest]).toEqual([restored.epoch, 30])
    for (const { sequence, json, cursor } of eventsBetween(archive, 0, 30)) {
      const event = JSON.parse(json.toString()) as Record<string, unknown>
      expect(event).toMatchObject({ epoch: restored.epoch, cursor, id: sampleEvent(sequence).id })
      expect(decodeCursor(cursor)).toMatchObject({ epoch: restored.epoch, sequence })
      expect(event.data).toEqual(JSON.parse(sampleEvent(sequence).data))
    }
    const writer = await claimed(log)
    expect(writer.state.head).toMatchObject({ epoch: restored.epoch, sequence: 30, cursor: 'c' })
    await writer.commit({ events: sampleEvents(31, 32) })
    expect(sequencesOf(await followed(log, 29, 3))).toEqual([30, 31, 32])
    expect(await log.table('tokens').load()).toEqual(new Map([['a', { name: 'one' }]]))
  })

  it('gives every reader with an older cursor a gap, so that it misses nothing of what came after the backup', async () => {
    const { dataDir, backup, cursorAt } = await backedUpLog(30, 50)
    restore(dataDir, backup)
    const { log, archive } = logs.open(dataDir)
    await (await claimed(log)).commit({ events: sampleEvents(31, 60) })
    for (const sequence of [50, 31, 30, 7]) {
      const resume = resumeAt(readerOf(archive), cursorAt.get(sequence) ?? '', 0)
      if (resume.kind !== 'from') throw new Error('too old')
      expect(resume.after).toBeLessThanOrEqual(Math.min(sequence, 30))
      expect(String(resume.localGap?.json)).toContain('"cause":"epoch"')
    }
  })

  it('starts a reader at the end of the backup even where the events after it are older than an hour', async () => {
    const { dataDir, backup, cursorAt } = await backedUpLog(30, 5000)
    restore(dataDir, backup)
    const { log, archive } = logs.open(dataDir)
    const writer = await claimed(log)
    await commitAll(writer, 31, 5000)
    expect(resumeAt(readerOf(archive), cursorAt.get(5000) ?? '', 0)).toMatchObject({ after: 30 })
  })

  it('knows the epochs of earlier restores, and of the log that it replaces', async () => {
    const first = await backedUpLog(10, 50)
    restore(first.dataDir, first.backup)
    const again = logs.open(first.dataDir)
    const second = await claimed(again.log)
    await second.commit({ events: sampleEvents(11, 20) })
    const backup = join(logs.folder(), 'two.db')
    await backUp({ dataDir: first.dataDir, target: backup, clock: systemClock })
    await again.log.close()
    restore(first.dataDir, backup)
    restore(first.dataDir, first.backup)
    restore(first.dataDir, backup)
    const { archive } = logs.open(first.dataDir)
    expect(archive.sharedThrough(first.epoch)).toBe(10)
    expect(archive.sharedThrough(second.state.head.epoch)).toBe(20)
  })

  it('writes the rows of its caller with the new epoch', async () => {
    const { dataDir, backup } = await backedUpLog(3, 3)
    restore(dataDir, backup, new Map([['ledger/0', '{"poll":7}']]))
    const { state } = await claimed(logs.open(dataDir).log)
    expect(state.ledger.get(0)).toEqual({ poll: 7 })
    expect([...state.ledger.values()].some(({ poll }) => poll === 1)).toBe(true)
  })

  it('sets the present files aside, deletes none, and only reads the backup', async () => {
    const { dataDir, backup } = await backedUpLog(3, 9)
    writeFileSync(join(dataDir, 'attempts.db'), 'attempts')
    writeFileSync(join(dataDir, 'notes.txt'), 'not ours')
    const present = readFileSync(join(dataDir, 'bridge.db'))
    const bytes = readFileSync(backup)
    const { replaced, present: contents } = restore(dataDir, backup)
    expect(contents).toMatchObject({ sequence: 9 })
    expect(readFileSync(join(replaced ?? '', 'bridge.db')).equals(present)).toBe(true)
    expect(readFileSync(join(replaced ?? '', 'attempts.db'), 'utf8')).toBe('attempts')
    expect(readFileSync(backup).equals(bytes)).toBe(true)
    const left = readdirSync(dataDir).filter((name) => !name.startsWith('replaced-'))
    expect(left.sort()).toEqual(['bridge.db', 'lock.db', 'notes.txt'])
    const again = restore(dataDir, join(replaced ?? '', 'bridge.db'))
    expect(again.present).toMatchObject({ sequence: 3 })
    expect(logs.open(dataDir).archive.latest).toBe(9)
  })

  it('replaces a log that cannot be read, and fills an empty directory', async () => {
    const { dataDir, backup } = await backedUpLog(3, 9)
    writeFileSync(join(dataDir, 'bridge.db'), 'no database\n'.repeat(99))
    const staged = stage(dataDir, backup)
    expect([staged.present, staged.presentFault]).toEqual([null, expect.stringContaining('bridge.db')])
    staged.replace(NO_ROWS)
    staged.release()
    expect(logs.open(dataDir).archive.latest).toBe(3)
    const empty = logs.folder()
    expect(restore(empty, backup)).toMatchObject({ replaced: null, present: null })
    expect(logs.open(empty).archive.latest).toBe(3)
  })

  it('takes a copied data directory with its write-ahead log, and the directory itself', async () => {
    const dataDir = logs.folder()
    const { log } = logs.open(dataDir)
    await (await claimed(log)).commit({ events: sampleEvents(1, 5) })
    const copy = logs.folder()
    for (const name of ['bridge.db', 'bridge.db-wal']) cpSync(join(dataDir, name), join(copy, name))
    expect(existsSync(join(copy, 'bridge.db-wal'))).toBe(true)
    await log.close()
    const target = logs.folder()
    restore(target, copy)
    expect(logs.open(target).archive.latest).toBe(5)
    const { epoch, replaced } = restore(dataDir, dataDir)
    expect(logs.open(dataDir).archive).toMatchObject({ epoch, latest: 5 })
    expect(replaced).not.toBeNull()
  })
})

describe('a restore is refused with nothing changed', () => {
  it('while a process uses the directory, or the directory of the backup', async () => {
    const { dataDir, backup } = await backedUpLog(3, 9)
    const { log } = logs.open(dataDir)
    expect(() => stage(dataDir, backup)).toThrow(expect.objectContaining({ code: 'log_locked' }))
    expect(() => stage(logs.folder(), dataDir)).toThrow(expect.objectContaining({ code: 'log_locked' }))
    await log.close()
    expect(logs.open(dataDir).archive.latest).toBe(9)
  })

  it.each([
    ['cut', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 8192 * 5))],
    [
      'overwritten in the middle',
      (path: string) => writeFileSync(path, readFileSync(path).fill(0xa5, 8192 * 4, 8192 * 6)),
    ],
    ['no database', (path: string) => writeFileSync(path, 'no database\n'.repeat(99))],
    [
      'overwritten inside the text of an event',
      (path: string) => {
        const bytes = readFileSync(path)
        writeFileSync(
          path,
          bytes.fill(0xa5, bytes.indexOf('"specversion"'), bytes.indexOf('"specversion"') + 24),
        )
      },
    ],
    ['of another content in one letter', (path: string) => replaceByte(path, '"headline":"', 'X')],
    ['overwritten in the JSON of an item', (path: string) => replaceByte(path, '"headline":"', '"')],
  ])('where the backup is %s', async (_, spoil) => {
    const { dataDir, backup } = await backedUpLog(300, 309)
    spoil(backup)
    expect(() => stage(dataDir, backup)).toThrow(
      expect.objectContaining({
        code: 'log_damaged',
        message: expect.stringContaining(`the backup ${backup} cannot be used: `),
        hint: 'Use another backup. Nothing was changed.',
      }),
    )
    expect(readdirSync(dataDir).sort()).toEqual(['bridge.db', 'lock.db'])
    expect(logs.open(dataDir).archive.latest).toBe(309)
  })

  it('where there is no backup, or it was never used', async () => {
    const { dataDir } = await backedUpLog(3, 3)
    const nothing = join(logs.folder(), 'none.db')
    expect(() => stage(dataDir, nothing)).toThrow(expect.objectContaining({ code: 'failed' }))
    const unused = logs.folder()
    await logs.open(unused).log.close()
    expect(() => stage(dataDir, unused)).toThrow(expect.objectContaining({ code: 'failed' }))
  })

  it('before `replace` is called', async () => {
    const { dataDir, backup } = await backedUpLog(3, 9)
    const staged = stage(dataDir, backup)
    staged.release()
    staged.release()
    expect(readdirSync(dataDir).sort()).toEqual(['bridge.db', 'lock.db'])
    expect(logs.open(dataDir).archive.latest).toBe(9)
  })
})

describe('a kill during a restore', () => {
  it('before the log is ready leaves the present one', async () => {
    const { dataDir, backup } = await backedUpLog(3, 9)
    mkdirSync(join(dataDir, 'restoring.part'))
    cpSync(backup, join(dataDir, 'restoring.part', 'bridge.db'))
    const { log, archive } = logs.open(dataDir)
    expect(archive.latest).toBe(9)
    await log.close()
    expect(restore(dataDir, backup).replaced).not.toBeNull()
  })

  it('after it is completed before another restore begins', async () => {
    const { dataDir, backup } = await backedUpLog(3, 9)
    const other = await backedUpLog(5, 5)
    mkdirSync(join(dataDir, 'restoring'))
    cpSync(other.backup, join(dataDir, 'restoring', 'bridge.db'))
    expect(restore(dataDir, backup).present).toMatchObject({ epoch: other.epoch, sequence: 5 })
    expect(readdirSync(dataDir).filter((name) => name.startsWith('replaced-'))).toHaveLength(2)
    expect(logs.open(dataDir).archive.latest).toBe(3)
  })

  it.each([0, 1, 2, 3, 4])('after it, at rename %i, is completed by the next start', async (renames) => {
    const { dataDir, backup } = await backedUpLog(3, 9)
    for (const name of ['bridge.db-wal', 'attempts.db']) writeFileSync(join(dataDir, name), name)
    const ready = join(dataDir, 'restoring')
    const aside = join(ready, 'replaced')
    mkdirSync(aside, { recursive: true })
    cpSync(backup, join(ready, 'bridge.db'))
    const steps = [
      () => renameSync(join(dataDir, 'bridge.db'), join(aside, 'bridge.db')),
      () => renameSync(join(dataDir, 'bridge.db-wal'), join(aside, 'bridge.db-wal')),
      () => renameSync(join(dataDir, 'attempts.db'), join(aside, 'attempts.db')),
      () => renameSync(join(ready, 'bridge.db'), join(dataDir, 'bridge.db')),
    ]
    for (const step of steps.slice(0, renames)) step()
    const completed: (string | null)[] = []
    expect(logs.open(dataDir, (path) => completed.push(path)).archive.latest).toBe(3)
    expect(completed).toEqual([expect.stringContaining('replaced-')])
    const [replaced = ''] = readdirSync(dataDir).filter((name) => name.startsWith('replaced-'))
    expect(readdirSync(join(dataDir, replaced)).sort()).toEqual(['attempts.db', 'bridge.db', 'bridge.db-wal'])
    expect(existsSync(ready)).toBe(false)
  })
})

/** Overwrites the byte behind the first place that has this text. */
function replaceByte(path: string, before: string, byte: string): void {
  const bytes = readFileSync(path)
  bytes.write(byte, bytes.indexOf(before) + before.length)
  writeFileSync(path, bytes)
}
