import { chmodSync, mkdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkPrivacy } from '../../src/cli/doctor/machine.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { lockDirectory } from '../../src/log-embedded/lock.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8)
}

test('the data directory is made for its owner alone', () => {
  using directory = temporaryDirectory()
  const dataDir = join(directory.path, 'a', 'data')
  lockDirectory(dataDir, systemClock)()
  expect([modeOf(join(directory.path, 'a')), modeOf(dataDir)]).toEqual(['700', '700'])
})

test('a lock whose note cannot be written is refused with a remedy, and released', () => {
  using directory = temporaryDirectory()
  const note = join(directory.path, 'owner.json')
  mkdirSync(note)
  expect(() => lockDirectory(directory.path, systemClock)).toThrow(
    expect.objectContaining({ code: 'log_unavailable', hint: expect.stringContaining('Free space') }),
  )
  rmdirSync(note)
  lockDirectory(directory.path, systemClock)()
})

test('a directory and files that an older build left open are closed to other users', () => {
  using directory = temporaryDirectory()
  const file = join(directory.path, 'bridge.db')
  writeFileSync(file, '')
  chmodSync(file, 0o644)
  chmodSync(directory.path, 0o755)
  expect(checkPrivacy(directory.path, join(directory.path, '.env'))).toMatchObject([
    { level: 'warn', name: 'privacy', finding: expect.stringContaining('1 file in it') },
  ])
  lockDirectory(directory.path, systemClock)()
  expect([modeOf(directory.path), modeOf(file)]).toEqual(['700', '600'])
  expect(checkPrivacy(directory.path, join(directory.path, '.env'))).toEqual([])
})

test('a directory that holds files of others too keeps its rights, and the doctor says so', () => {
  using directory = temporaryDirectory()
  const [dataDir, log] = [join(directory.path, 'shared'), join(directory.path, 'shared', 'bridge.db')]
  mkdirSync(dataDir)
  chmodSync(dataDir, 0o755)
  for (const name of ['bridge.db', 'notes.txt']) {
    writeFileSync(join(dataDir, name), '')
    chmodSync(join(dataDir, name), 0o644)
  }
  lockDirectory(dataDir, systemClock)()
  expect([modeOf(dataDir), modeOf(log), modeOf(join(dataDir, 'notes.txt'))]).toEqual(['755', '600', '644'])
  expect(checkPrivacy(dataDir, join(dataDir, '.env'))).toMatchObject([
    { level: 'warn', todo: expect.stringContaining(`chmod 700 ${dataDir}`) },
  ])
})

test('a file of settings that others may read is a warning of the doctor', () => {
  using directory = temporaryDirectory()
  const envFile = join(directory.path, '.env')
  writeFileSync(envFile, 'BRIDGE_UPSTREAM_KEY=x')
  chmodSync(envFile, 0o640)
  expect(checkPrivacy(directory.path, envFile)).toMatchObject([
    { level: 'warn', todo: `take them away: chmod 600 ${envFile}` },
  ])
})
