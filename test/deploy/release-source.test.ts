/** Tests which commit a release names, on repositories of git in a temporary directory. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { releasedSource } from '../../deploy/release/source.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'

/** The environment of git: nobody's settings. */
const env = {
  PATH: process.env.PATH,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  ...Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((who) => [
      [`GIT_${who}_NAME`, 'test'],
      [`GIT_${who}_EMAIL`, 'test@test.invalid'],
      [`GIT_${who}_DATE`, '1767225600 +0000'],
    ]),
  ),
}

function repository(folder: string) {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, env, encoding: 'utf8' }).trim()
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  git('init', '--quiet')
  write('.gitignore', 'dist\n')
  write('kept', 'one\n')
  git('add', '.')
  git('commit', '--quiet', '--message', 'first')
  return { git, write }
}

test('a release names its commit and has its time; ignored files do not matter', () => {
  using directory = temporaryDirectory()
  const { git, write } = repository(directory.path)
  write('dist', 'built')
  expect(releasedSource(directory.path, {})).toEqual({
    epochSeconds: 1_767_225_600,
    revision: git('rev-parse', 'HEAD'),
  })
})

test('what is changed or not committed is not released under the name of the commit', () => {
  using directory = temporaryDirectory()
  const { git, write } = repository(directory.path)
  write('new', 'text')
  expect(() => releasedSource(directory.path, {})).toThrow('the checkout differs from its commit (1)')
  expect(() => releasedSource(directory.path, {})).toThrow('?? new')
  git('add', '.')
  git('commit', '--quiet', '--message', 'second')
  write('kept', 'two\n')
  expect(() => releasedSource(directory.path, {})).toThrow(' M kept')
  const given = releasedSource(directory.path, { SOURCE_DATE_EPOCH: '1767225601' })
  expect(given).toEqual({ epochSeconds: 1_767_225_601, revision: null })
})

test.each(['', 'now', '1e9', '-1'])('SOURCE_DATE_EPOCH=%s is refused', (given) => {
  expect(() => releasedSource('/', { SOURCE_DATE_EPOCH: given })).toThrow('seconds since 1970')
})
