import { expect, test } from 'vitest'
import {
  type Finding,
  findingLines,
  findingsJson,
  fine,
  throwIfFailed,
  withoutSecrets,
} from '../../../src/cli/doctor/finding.ts'
import { painter } from '../../../src/cli/terminal/text.ts'

const SECRET = 'a-secret-of-the-tests'
const clean = withoutSecrets([SECRET])
const failed = (area: Finding['area'], finding = 'broken'): Finding => ({
  level: 'fail',
  name: area,
  finding,
  todo: `mend ${finding}`,
  area,
})

test('findings are aligned lines, with the remedy after an arrow', () => {
  expect(findingLines([fine('node', 'v24'), failed('upstream')], painter(false), clean)).toEqual([
    'ok    node      v24',
    'fail  upstream  broken  → mend broken',
  ])
})

test('no output form shows a secret or controls the terminal, whatever the upstream returned', () => {
  const evil = failed('upstream', `\u001b[2J no key ${SECRET}\n`)
  for (const text of [...findingLines([evil], painter(false), clean), findingsJson([evil], clean)]) {
    expect(text).not.toContain(SECRET)
    expect(text).toContain('[redacted]')
    expect(text).not.toMatch(/\p{Cc}/u)
  }
})

test('a short secret is hidden where it stands alone, and leaves the words that have its letters', () => {
  const hide = withoutSecrets(['x', 'a+b', `long${SECRET}`])
  expect(hide(`fix that: no key x, a+b or prelong${SECRET}s; 3a+b4`)).toBe(
    'fix that: no key [redacted], [redacted] or pre[redacted]s; 3a+b4',
  )
})

test('as JSON it is one line that says whether anything failed', () => {
  expect(JSON.parse(findingsJson([fine('node', 'v24')], clean))).toEqual({
    ok: true,
    checks: [{ level: 'ok', name: 'node', finding: 'v24', todo: null }],
  })
  expect(JSON.parse(findingsJson([failed('failed')], clean)).ok).toBe(false)
})

test('the most severe area decides the exit code: settings, upstream, the rest', () => {
  const warned: Finding = { ...failed('settings'), level: 'warn' }
  expect(() => throwIfFailed([fine('a', 'b'), warned])).not.toThrow()
  expect(() => throwIfFailed([failed('failed'), warned])).toThrow(expect.objectContaining({ code: 'failed' }))
  expect(() => throwIfFailed([failed('failed'), failed('upstream')])).toThrow(
    expect.objectContaining({ code: 'upstream', message: expect.stringContaining('2 of 2') }),
  )
  expect(() => throwIfFailed([failed('upstream'), failed('settings')])).toThrow(
    expect.objectContaining({ code: 'settings' }),
  )
})
