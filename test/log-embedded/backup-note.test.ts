/** The note of the last backup: what a running bridge reads of it, and that it takes no rights away from the directory. */
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/lifecycle/clock.ts'
import type { Backup } from '../../src/log-embedded/backup.ts'
import { lastBackupMs, noteBackup } from '../../src/log-embedded/backup-note.ts'
import { lockDirectory } from '../../src/log-embedded/lock.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'

const backup = (takenAt: string): Backup => ({
  file: '/backups/one.db',
  bytes: 7,
  epoch: null,
  sequence: 0,
  time: null,
  takenAt,
})

test('the newest backup counts, and the note is readable by its owner alone', () => {
  using directory = temporaryDirectory()
  const { path } = directory
  expect(() => lastBackupMs(path)).toThrow('ENOENT')
  for (const takenAt of ['2026-02-03T02:15:00.000Z', '2026-02-04T02:15:00.000Z']) {
    expect(noteBackup(path, backup(takenAt))).toBeNull()
    expect(lastBackupMs(path)).toBe(Date.parse(takenAt))
  }
  expect(readdirSync(path)).toEqual(['backup.json'])
  expect(statSync(join(path, 'backup.json')).mode & 0o777).toBe(0o600)
  lockDirectory(path, systemClock)()
  expect(statSync(path).mode & 0o777).toBe(0o700)
})

test('a note that cannot be written or read is said, and never taken for a time', () => {
  using directory = temporaryDirectory()
  const { path } = directory
  writeFileSync(join(path, 'backup.json'), '{"takenAt":"soon"}')
  expect(() => lastBackupMs(path)).toThrow('names no time')
  expect(noteBackup(join(path, 'missing'), backup('2026-02-03T02:15:00.000Z'))).toContain('ENOENT')
  mkdirSync(join(path, 'other', 'backup.json'), { recursive: true })
  expect(noteBackup(join(path, 'other'), backup('2026-02-03T02:15:00.000Z'))).toContain('backup.json')
  expect(readdirSync(join(path, 'other'))).toEqual(['backup.json'])
})
