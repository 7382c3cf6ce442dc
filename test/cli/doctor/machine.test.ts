import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkDataDir, checkNode, checkOpenFiles, checkPrivacy } from '../../../src/cli/doctor/machine.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { lockDirectory } from '../../../src/log-embedded/lock.ts'
import { fileNeedsOf } from '../../../src/settings/file-needs.ts'
import { examineSettings } from '../../../src/settings/settings.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'

const GB = 1024 ** 3

test('a Node that is too old fails, with the remedy', () => {
  expect(checkNode('v24.21.0').level).toBe('ok')
  expect(checkNode('v26.0.0').level).toBe('ok')
  expect(checkNode('v22.18.0')).toMatchObject({ level: 'fail', todo: expect.stringContaining('npx') })
})

test.each([
  [50 * GB, 'ok', '50.0 GB free'],
  [0.5 * GB, 'warn', '536.9 MB free'],
  [0.001 * GB, 'fail', '1.1 MB free'],
])('%d bytes of free space are %s', (free, level, text) => {
  using directory = temporaryDirectory()
  const finding = expect.stringContaining(text)
  expect(checkDataDir(directory.path, () => free)).toMatchObject({ level, finding })
})

test('a missing data directory is checked by its nearest parent, and nothing is created', () => {
  using directory = temporaryDirectory()
  const place = join(directory.path, 'a', 'b')
  const asked: string[] = []
  const found = checkDataDir(place, (path) => asked.push(path) * 50 * GB)
  expect(found).toMatchObject({ level: 'ok', finding: expect.stringContaining('will be created') })
  expect(asked).toEqual([directory.path])
  expect(existsSync(join(directory.path, 'a'))).toBe(false)
})

test('a data directory that cannot be made fails as the start would, and nothing else of it is judged', () => {
  using directory = temporaryDirectory()
  const [file, loop] = [join(directory.path, 'file'), join(directory.path, 'loop')]
  writeFileSync(file, '')
  symlinkSync(loop, loop)
  for (const place of [file, join(file, 'data'), loop, '/proc/no-such-place/data']) {
    expect(checkDataDir(place)).toMatchObject({
      level: 'fail',
      finding: expect.stringContaining(`${place} cannot be made: E`),
      todo: 'Point BRIDGE_DATA_DIR to a directory that this user can write.',
      area: 'settings',
    })
    expect(() => lockDirectory(place, systemClock)).toThrow(
      expect.objectContaining({ code: 'settings', message: checkDataDir(place).finding }),
    )
    expect(checkPrivacy(place, join(directory.path, '.env'))).toEqual([])
  }
})

test('a limit of open files below the streams is a warning with both remedies', () => {
  const needs = { streams: 10_000, delivers: false }
  expect(checkOpenFiles(needs, 11_000).level).toBe('ok')
  expect(checkOpenFiles(needs, null).level).toBe('ok')
  expect(checkOpenFiles(needs, 4096)).toMatchObject({
    level: 'warn',
    finding: expect.stringContaining('3096 streams'),
    todo: expect.stringMatching(/ulimit.*BRIDGE_STREAM_MAX_CLIENTS/),
  })
})

test('a process without the roles api and feed has no streams, so none is missed, and webhook attempts have their share', () => {
  const found = (BRIDGE_ROLES: string, openFiles: number) => {
    const { settings } = examineSettings({ BRIDGE_ROLES }, () => '')
    return checkOpenFiles(fileNeedsOf(settings), openFiles)
  }
  const enough = (text: string) => ({ level: 'ok', finding: expect.stringContaining(text) })
  expect(found('poller', 1024)).toMatchObject(enough('1024 may be open: enough for this process'))
  expect(found('poller,webhooks', 4096)).toMatchObject(enough('enough for 1638 webhook attempts at a time'))
  expect(found('webhooks', 11_000)).toMatchObject(enough('enough for 4400 webhook attempts at a time'))
  for (const roles of ['api', 'feed', 'all']) expect(found(roles, 1024).level).toBe('warn')
})

test('where the bridge delivers to webhooks, the attempts that fit beside the streams are named', () => {
  const needs = { streams: 10_000, delivers: true }
  expect(checkOpenFiles(needs, 4096)).toMatchObject({
    level: 'warn',
    finding: expect.stringContaining('1708 streams, not for 10000, beside 1638 webhook attempts'),
  })
  expect(checkOpenFiles(needs, 11_000)).toMatchObject({
    level: 'ok',
    finding: expect.stringContaining('10000 streams, beside 250 webhook attempts'),
  })
  expect(checkOpenFiles(needs, 20_000)).toMatchObject({
    level: 'ok',
    finding: expect.stringContaining('10000 streams, beside 8000 webhook attempts'),
  })
})
