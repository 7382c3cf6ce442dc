import { describe, expect, test } from 'vitest'
import { examineSettings, loadSettings } from '../../src/settings/settings.ts'
import { createTestAuthority } from '../support/test-certificates.ts'

const whole = {
  BRIDGE_UPSTREAM_URL: 'https://upstream.example/v2',
  BRIDGE_UPSTREAM_KEY: 'k',
  BRIDGE_ADMIN_TOKEN: 'admin token of this test',
  BRIDGE_SECRET_KEY: 'a-secret-key-of-32-characters-and-more',
}

/** Reads `.env` with that text, and no other file. */
function envFile(text: string) {
  return (path: string): string => {
    if (path === '.env') return text
    throw Object.assign(new Error(path), { code: 'ENOENT' })
  }
}

const warningsOf = (more: Record<string, string>) => loadSettings({ ...whole, ...more }, envFile('')).warnings

describe('settings that nobody can mean are warned of', () => {
  test('roles without a poller on the embedded log: nothing new can arrive', () => {
    expect(warningsOf({ BRIDGE_ROLES: 'api,feed' })).toEqual([
      expect.stringMatching(/^BRIDGE_ROLES .*poller/),
    ])
    expect(warningsOf({ BRIDGE_ROLES: 'api', BRIDGE_KAFKA_BROKERS: '127.0.0.1:9092' })).toEqual([])
    expect(warningsOf({})).toEqual([])
  })

  test('units for fund paths on a plan that has none', () => {
    const units = { BRIDGE_GATEWAY_WEEKLY_UNITS: '100' }
    expect(warningsOf(units)).toEqual([expect.stringMatching(/^BRIDGE_GATEWAY_WEEKLY_UNITS .* plan free/)])
    expect(warningsOf({ ...units, BRIDGE_UPSTREAM_PLAN: 'advanced' })).toEqual([])
  })

  test('a sandbox, polled by its own time at the pace of a real quota', () => {
    const sandbox = { BRIDGE_UPSTREAM_URL: 'http://127.0.0.1:21070/v2' }
    expect(warningsOf(sandbox)).toEqual([
      expect.stringMatching(/^BRIDGE_UPSTREAM_URL .*time that a sandbox.*real week/),
    ])
    expect(warningsOf({ ...sandbox, BRIDGE_UPSTREAM_WEEKLY_QUOTA: '1000000' })).toEqual([])
  })
})

describe('a line of .env that cannot be read is refused', () => {
  const errorsOf = (text: string) => examineSettings(whole, envFile(text)).errors

  test('with its number and without its text, which may be a secret', () => {
    const text = 'BRIDGE_LOG_LEVEL=info\n\nBRIDGE_UPSTREAM_PLAN: advanced\nBRIDGE_UPSTREAM_KEY planted\n'
    const errors = errorsOf(text)
    expect(errors.map(({ field }) => field)).toEqual(['.env line 3', '.env line 4'])
    expect(JSON.stringify(errors)).not.toMatch(/planted|advanced/)
    expect(() => loadSettings(whole, envFile(text))).toThrow('.env line 3, .env line 4 are wrong')
  })

  test('and comments, blanks, exports, quotes over several lines and Windows line ends are taken', () => {
    const text = [
      '# a comment: with a colon',
      'export BRIDGE_LOG_LEVEL="warn" # why',
      "OTHER='first line",
      'BRIDGE_UPSTREAM_PLAN: inside the quotes',
      "last line'",
      '  BRIDGE_DRAIN_TIMEOUT = PT5S',
      '',
    ].join('\r\n')
    expect(errorsOf(text)).toEqual([])
    const settings = loadSettings(whole, envFile(text))
    expect([settings.logLevel, settings.drainTimeoutMs]).toEqual(['warn', 5000])
  })
})

test('localhost and 127.0.0.1 with one port are refused as equal', () => {
  const same = { BRIDGE_HTTP_PORT: '9000', BRIDGE_OPS_PORT: '9000', BRIDGE_OPS_HOST: 'localhost' }
  expect(examineSettings({ ...whole, ...same }, envFile('')).errors).toMatchObject([
    { field: 'BRIDGE_OPS_PORT' },
  ])
})

describe("the listener's certificate", () => {
  const { cert, key } = createTestAuthority().issue(['localhost'])
  const files = (path: string): string => {
    const text = { cert, key, other: createTestAuthority().issue(['x']).key, '.env': '' }[path]
    if (text !== undefined) return text
    throw Object.assign(new Error(path), { code: 'ENOENT' })
  }
  const read = (certFile: string, keyFile: string) =>
    examineSettings(
      { ...whole, BRIDGE_HTTP_TLS_CERT_FILE: certFile, BRIDGE_HTTP_TLS_KEY_FILE: keyFile },
      files,
    )

  test('is taken with its key, as files that are read again', () => {
    const { errors, settings } = read('cert', 'key')
    expect([errors, settings.httpTls]).toEqual([[], { certFile: 'cert', keyFile: 'key' }])
  })

  test.each([
    ['cert', '', 'BRIDGE_HTTP_TLS_KEY_FILE', 'is required with BRIDGE_HTTP_TLS_CERT_FILE'],
    ['', 'key', 'BRIDGE_HTTP_TLS_CERT_FILE', 'is required with BRIDGE_HTTP_TLS_KEY_FILE'],
    ['none', 'key', 'BRIDGE_HTTP_TLS_CERT_FILE', 'there is no such file'],
    ['key', 'key', 'BRIDGE_HTTP_TLS_CERT_FILE', 'no line BEGIN CERTIFICATE'],
    ['cert', 'other', 'BRIDGE_HTTP_TLS_KEY_FILE', 'does not hold the key of the certificate'],
  ])('is refused as %s with %s', (certFile, keyFile, field, words) => {
    expect(read(certFile, keyFile).errors).toEqual([{ field, message: expect.stringContaining(words) }])
  })
})
