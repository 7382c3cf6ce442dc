import { expect, test } from 'vitest'
import { checkExposure } from '../../../src/cli/doctor/exposure.ts'
import { examineSettings } from '../../../src/settings/settings.ts'

const noFile = (path: string): never => {
  throw Object.assign(new Error(path), { code: 'ENOENT' })
}
const good = {
  BRIDGE_UPSTREAM_URL: 'https://upstream.example/v2',
  BRIDGE_UPSTREAM_KEY: 'k',
  BRIDGE_ADMIN_TOKEN: '0f8e4c1d2b3a5967',
  BRIDGE_SECRET_KEY: '0f8e4c1d2b3a5967f0e1d2c3b4a59687',
}

function warnings(more: Record<string, string>, env: Record<string, string> = {}): string[] {
  return checkExposure(examineSettings({ ...good, ...more }, noFile).settings, env).map(
    ({ level, finding, todo }) => `${level} ${finding} → ${todo}`,
  )
}

test('loopback listeners, https and random keys are no finding', () => {
  expect(warnings({})).toEqual([])
  expect(warnings({ BRIDGE_HTTP_HOST: '::1', BRIDGE_OPS_HOST: 'localhost' })).toEqual([])
  expect(warnings({ BRIDGE_UPSTREAM_URL: 'http://127.0.0.1:1/v2' })).toEqual([])
})

test.each([
  ['a public listener in clear', { BRIDGE_HTTP_HOST: '0.0.0.0' }, /^warn BRIDGE_HTTP_HOST .*without TLS/],
  ['an ops listener beyond this machine', { BRIDGE_OPS_HOST: '10.0.0.5' }, /^warn BRIDGE_OPS_HOST/],
  [
    'an upstream in clear',
    { BRIDGE_UPSTREAM_URL: 'http://upstream.example/v2' },
    /^warn BRIDGE_UPSTREAM_URL is http/,
  ],
  [
    'an admin token of one letter',
    { BRIDGE_ADMIN_TOKEN: 'a'.repeat(16) },
    /^warn BRIDGE_ADMIN_TOKEN has only 1 different character:/,
  ],
  ['a key of two letters', { BRIDGE_SECRET_KEY: 'ab'.repeat(16) }, /^warn BRIDGE_SECRET_KEY has only 2/],
  [
    'an old key equal to the present one',
    { BRIDGE_SECRET_KEY_OLD: good.BRIDGE_SECRET_KEY },
    /^warn BRIDGE_SECRET_KEY_OLD is equal to BRIDGE_SECRET_KEY → .*leave it out/,
  ],
  [
    'a token equal to the key',
    { BRIDGE_ADMIN_TOKEN: good.BRIDGE_SECRET_KEY },
    /^warn BRIDGE_SECRET_KEY is equal to BRIDGE_ADMIN_TOKEN/,
  ],
])('%s is a warning with what to do, and no key is shown', (_, more, words) => {
  const found = warnings(more)
  expect(found).toEqual([expect.stringMatching(words)])
  expect(found[0]).not.toContain(good.BRIDGE_SECRET_KEY)
})

test('certificates that Node does not check are a warning', () => {
  expect(warnings({}, { NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toEqual([
    expect.stringMatching(/NODE_TLS_REJECT_UNAUTHORIZED is 0.*unset it/),
  ])
  expect(warnings({}, { NODE_TLS_REJECT_UNAUTHORIZED: '1' })).toEqual([])
})
