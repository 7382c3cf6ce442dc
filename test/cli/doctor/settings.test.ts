import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkSettings } from '../../../src/cli/doctor/settings.ts'
import { examineSettings } from '../../../src/settings/settings.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'

const NOW_MS = Date.parse('2026-01-06T07:00:00Z')

const noFile = (path: string): never => {
  throw Object.assign(new Error(path), { code: 'ENOENT' })
}

function failures(env: Record<string, string>) {
  const found = checkSettings(examineSettings({ BRIDGE_ROLES: 'poller', ...env }, noFile), NOW_MS)
  return found.filter(({ level }) => level === 'fail')
}

const upstream = { BRIDGE_UPSTREAM_URL: 'http://127.0.0.1:1/v2', BRIDGE_UPSTREAM_KEY: 'k' }

test('a wrong setting is a separate finding, with the closest match', () => {
  expect(failures(upstream)).toEqual([])
  expect(failures({ ...upstream, BRIDGE_UPSTREAM_PLN: 'free' })).toMatchObject([
    { finding: expect.stringContaining('did you mean "BRIDGE_UPSTREAM_PLAN"') },
  ])
})

test('an address of a bridge that commands refuse is a warning: the bridge itself does not read it', () => {
  const warnings = (BRIDGE_URL: string) =>
    checkSettings(
      examineSettings({ ...upstream, BRIDGE_ROLES: 'poller', BRIDGE_URL }, noFile),
      NOW_MS,
    ).filter(({ finding }) => finding.includes('BRIDGE_URL'))
  for (const url of ['nonsense', 'localhost:8080'])
    expect(warnings(url)).toMatchObject([{ level: 'warn', todo: expect.stringContaining('bridge tail') }])
  expect(warnings('https://bridge.example')).toEqual([])
})

test('a missing or invalid calendar file is found before the start', () => {
  using directory = temporaryDirectory()
  const file = join(directory.path, 'calendar.json')
  const judged = () => failures({ ...upstream, BRIDGE_CALENDAR_FILE: file })
  expect(judged()).toMatchObject([{ finding: expect.stringContaining('cannot be read') }])
  writeFileSync(file, '{"holiday":[]}')
  expect(judged()).toMatchObject([{ finding: expect.stringContaining('did you mean "holidays"') }])
  writeFileSync(file, '{"holidays":["2026-12-24"]}')
  expect(judged()).toEqual([])
})
