import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseDuration } from '../../src/core/durations.ts'
import { BridgeError, exitCodeFor } from '../../src/errors.ts'
import { docOf, settingNames } from '../../src/settings/schema.ts'
import { examineSettings, loadSettings } from '../../src/settings/settings.ts'

const KEY = 'upstream-key-planted-1'
const TOKEN = 'admin token planted 1'
const SECRET = 'a-secret-key-planted-of-32-characters'
const whole = {
  BRIDGE_UPSTREAM_URL: 'https://upstream.example/v2',
  BRIDGE_UPSTREAM_KEY: KEY,
  BRIDGE_ADMIN_TOKEN: TOKEN,
  BRIDGE_SECRET_KEY: SECRET,
}

/** A file system of these files. */
function files(contents: Record<string, string> = {}) {
  return (path: string): string => {
    // A garbage path may be the name of a member that every object has, such as `toString`.
    const text = Object.hasOwn(contents, path) ? contents[path] : undefined
    if (text === undefined) throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' })
    return text
  }
}

/** The settings error of this environment. */
function wrong(env: Record<string, string>, readFile = files()): BridgeError {
  try {
    loadSettings(env, readFile)
  } catch (error) {
    if (error instanceof BridgeError) return error
    throw error
  }
  throw new Error('these settings were taken')
}

describe('settings', () => {
  test('need only the upstream and two secrets, and are deeply frozen', () => {
    const settings = loadSettings(whole, files())
    expect(settings.roles).toEqual(['poller', 'webhooks', 'feed', 'api', 'console'])
    expect(settings.upstream).toEqual({
      url: 'https://upstream.example/v2',
      key: KEY,
      plan: {
        name: 'free',
        ratePerSecond: 1,
        burst: 2,
        weeklyQuota: 350,
        pageSize: 50,
        quotaReset: 'rolling',
      },
    })
    expect(settings.native).toEqual({ word: 'native', kind: 'Native' })
    expect(settings.http).toEqual({ host: '127.0.0.1', port: 8080 })
    expect(settings.backfillMs).toBe(86_400_000)
    expect(settings.drainTimeoutMs).toBe(30_000)
    expect(Object.isFrozen(settings)).toBe(true)
    expect(Object.isFrozen(settings.upstream?.plan)).toBe(true)
  })

  test('read each figure of the plan from its own override', () => {
    const { upstream } = loadSettings(
      {
        ...whole,
        BRIDGE_UPSTREAM_PLAN: 'advanced',
        BRIDGE_UPSTREAM_RATE: '2.5',
        BRIDGE_UPSTREAM_WEEKLY_QUOTA: '100000',
        BRIDGE_UPSTREAM_QUOTA_RESET: 'TUE 01:30Z',
      },
      files(),
    )
    expect(upstream?.plan).toEqual({
      name: 'advanced',
      ratePerSecond: 2.5,
      burst: 30,
      weeklyQuota: 100_000,
      pageSize: 100,
      quotaReset: { minutesAfterMonday: 24 * 60 + 90 },
    })
  })

  test('apply the word for `native` on a node that does not poll too: it reads the same items', () => {
    const { upstream, native } = loadSettings(
      {
        BRIDGE_ROLES: 'api',
        BRIDGE_ADMIN_TOKEN: whole.BRIDGE_ADMIN_TOKEN,
        BRIDGE_SECRET_KEY: whole.BRIDGE_SECRET_KEY,
        BRIDGE_UPSTREAM_NATIVE_WORD: 'house',
      },
      files(),
    )
    expect(upstream).toBeNull()
    expect(native).toEqual({ word: 'house', kind: 'House' })
  })

  test('refuse an unknown name with the closest match, from every source', () => {
    const error = wrong({ ...whole, BRIDGE_HTTP_PROT: '1' }, files({ '.env': 'BRIDGE_ADMIN_TOKEN_FIL=x' }))
    expect(exitCodeFor(error)).toBe(3)
    expect(error.errors.map(({ field }) => field).sort()).toEqual([
      'BRIDGE_ADMIN_TOKEN_FIL',
      'BRIDGE_HTTP_PROT',
    ])
    expect(JSON.stringify(error.errors)).toContain('BRIDGE_HTTP_PORT')
    expect(JSON.stringify(error.errors)).toContain('BRIDGE_ADMIN_TOKEN_FILE')
  })

  test('list everything wrong at once, each with what to write instead', () => {
    const { errors, message } = wrong({
      BRIDGE_ROLES: 'poller,api',
      BRIDGE_UPSTREAM_URL: 'ftp://upstream.example',
      BRIDGE_HTTP_PORT: '65536',
      BRIDGE_DRAIN_TIMEOUT: '30s',
      BRIDGE_LOG_LEVEL: 'inof',
      BRIDGE_ADMIN_TOKEN: 'short',
    })
    const byField = Object.fromEntries(errors.map((error) => [error.field, error.message]))
    expect(Object.keys(byField).sort()).toEqual([
      'BRIDGE_ADMIN_TOKEN',
      'BRIDGE_DRAIN_TIMEOUT',
      'BRIDGE_HTTP_PORT',
      'BRIDGE_LOG_LEVEL',
      'BRIDGE_SECRET_KEY',
      'BRIDGE_UPSTREAM_KEY',
      'BRIDGE_UPSTREAM_URL',
    ])
    expect(byField.BRIDGE_DRAIN_TIMEOUT).toContain('PT30S')
    expect(byField.BRIDGE_LOG_LEVEL).toContain('"info"')
    expect(byField.BRIDGE_SECRET_KEY).toContain('required with the role api')
    expect(message).toContain('BRIDGE_HTTP_PORT')
  })

  test.each([
    ['BRIDGE_UPSTREAM_URL', 'https://upstream.example'],
    ['BRIDGE_UPSTREAM_URL', 'https://upstream.example/v2?x=1'],
    ['BRIDGE_UPSTREAM_URL', 'https://user:word@upstream.example/v2'],
    ['BRIDGE_UPSTREAM_RATE', '0'],
    ['BRIDGE_UPSTREAM_RATE', '1e3'],
    ['BRIDGE_UPSTREAM_BURST', '0'],
    ['BRIDGE_UPSTREAM_PAGE_SIZE', '201'],
    ['BRIDGE_UPSTREAM_QUOTA_RESET', 'MON 24:00Z'],
    ['BRIDGE_UPSTREAM_QUOTA_RESET', 'monday'],
    ['BRIDGE_UPSTREAM_PLAN', 'Free'],
    ['BRIDGE_HTTP_HOST', 'http://127.0.0.1'],
    ['BRIDGE_CORS_ORIGINS', '*'],
    ['BRIDGE_CORS_ORIGINS', 'https://desk.example/'],
    ['BRIDGE_BACKFILL', 'P'],
    ['BRIDGE_BACKFILL', 'P300Y'],
    ['BRIDGE_WEBHOOK_PROXY', 'socks5://proxy.example'],
    ['BRIDGE_WEBHOOK_PROXY', 'http://user:100%@proxy.example'],
    ['BRIDGE_WEBHOOK_ALLOW_NETS', '10.0.0.0/33'],
    ['BRIDGE_WEBHOOK_ALLOW_NETS', 'fe80::1%eth0/64'],
    ['BRIDGE_KAFKA_TLS', 'yes'],
    ['BRIDGE_ROLES', ','],
  ])('refuse %s = %s and name it', (name, text) => {
    expect(wrong({ ...whole, [name]: text }).errors.map(({ field }) => field)).toEqual([name])
  })

  test('refuse the console without its API, and name roles that do not exist', () => {
    const alone = wrong({ ...whole, BRIDGE_ROLES: 'feed,console' })
    expect(alone.errors).toMatchObject([
      { field: 'BRIDGE_ROLES', message: expect.stringContaining('add api') },
    ])
    expect(wrong({ ...whole, BRIDGE_ROLES: 'fed' }).errors[0]?.message).toContain('"feed"')
  })

  test('require of each role only its own settings', () => {
    expect(loadSettings({ ...whole, BRIDGE_ROLES: 'poller' }, files()).roles).toEqual(['poller'])
    const { BRIDGE_ADMIN_TOKEN, BRIDGE_SECRET_KEY } = whole
    const api = loadSettings({ BRIDGE_ROLES: ' api , feed ', BRIDGE_ADMIN_TOKEN, BRIDGE_SECRET_KEY }, files())
    expect(api.roles).toEqual(['feed', 'api'])
    expect(api.upstream).toBeNull()
    const bare = wrong({ BRIDGE_ROLES: 'webhooks' })
    expect(bare.errors.map(({ field }) => field)).toEqual(['BRIDGE_ADMIN_TOKEN', 'BRIDGE_SECRET_KEY'])
  })

  test('read a secret from a file, never from both', () => {
    const { BRIDGE_UPSTREAM_KEY, ...rest } = whole
    const readFile = files({ '/run/key': `${BRIDGE_UPSTREAM_KEY}\n`, '/run/empty': '\n' })
    const env = { ...rest, BRIDGE_UPSTREAM_KEY_FILE: '/run/key' }
    expect(loadSettings(env, readFile).upstream?.key).toBe(KEY)
    expect(wrong({ ...env, BRIDGE_UPSTREAM_KEY }, readFile).errors).toHaveLength(1)
    expect(wrong({ ...rest, BRIDGE_UPSTREAM_KEY_FILE: '/run/none' }, readFile).errors).toHaveLength(1)
    expect(wrong({ ...rest, BRIDGE_UPSTREAM_KEY_FILE: '/run/empty' }, readFile).errors).toHaveLength(1)
    const { BRIDGE_SECRET_KEY, ...keyless } = whole
    const short = { ...keyless, BRIDGE_SECRET_KEY_FILE: '/run/short' }
    expect(wrong(short, files({ '/run/short': 'tooShort\n' })).errors).toEqual([
      {
        field: 'BRIDGE_SECRET_KEY',
        message: expect.stringMatching(/^must [^S]*\(read from \/run\/short\)$/),
      },
    ])
  })

  test('name the installation after the topics, unless it has a name of its own', () => {
    expect(loadSettings(whole, files()).installation).toBe('disclosures')
    expect(loadSettings({ ...whole, BRIDGE_TOPIC_PREFIX: 'uk' }, files()).installation).toBe('uk')
    expect(loadSettings({ ...whole, BRIDGE_INSTALLATION: 'london-1' }, files()).installation).toBe('london-1')
    expect(wrong({ ...whole, BRIDGE_INSTALLATION: 'a b' }, files()).message).toContain('BRIDGE_INSTALLATION')
  })

  test('read a .env file, let the environment win, and treat an empty value as absent', () => {
    const readFile = files({ '.env': 'BRIDGE_HTTP_PORT=9000\nBRIDGE_OPS_PORT="0"\nOTHER=1\n' })
    const settings = loadSettings({ ...whole, BRIDGE_HTTP_PORT: '9001', BRIDGE_LOG_LEVEL: ' ' }, readFile)
    expect(settings.http.port).toBe(9001)
    expect(settings.ops.port).toBe(0)
    expect(settings.logLevel).toBe('info')
    const unreadable = (): string => {
      throw Object.assign(new Error('permission denied'), { code: 'EACCES' })
    }
    expect(wrong(whole, unreadable).message).toContain('.env')
  })

  test('override .env by an empty value in the environment, or by the other form of a secret', () => {
    const readFile = files({
      '.env': `BRIDGE_HTTP_PORT=9000\nBRIDGE_ADMIN_TOKEN=${TOKEN}-of-the-file`,
      '/run/token': `${TOKEN}-of-the-run`,
    })
    const { BRIDGE_ADMIN_TOKEN: _, ...rest } = whole
    const settings = loadSettings(
      { ...rest, BRIDGE_HTTP_PORT: '', BRIDGE_ADMIN_TOKEN_FILE: '/run/token' },
      readFile,
    )
    expect(settings.http.port).toBe(8080)
    expect(settings.adminToken).toBe(`${TOKEN}-of-the-run`)
    const named = files({ '.env': 'BRIDGE_ADMIN_TOKEN_FILE=/run/none' })
    expect(loadSettings(whole, named).adminToken).toBe(TOKEN)
  })

  test('show no secret in the summary or in an error', () => {
    const settings = loadSettings(whole, files())
    expect(settings.summary.BRIDGE_ADMIN_TOKEN).toBe('(set)')
    expect(settings.summary.BRIDGE_UPSTREAM_URL).toBe('https://upstream.example/v2')
    for (const secret of [KEY, TOKEN, SECRET]) {
      expect(JSON.stringify(settings.summary)).not.toContain(secret)
      expect(settings.secrets).toContain(secret)
    }
    const text = 'planted-secret with blank'
    const everywhere = Object.fromEntries(settingNames.map((name) => [name, `\u0001${text}\u0001`]))
    const error = wrong(everywhere)
    expect(`${error.message}${error.hint}${JSON.stringify(error.errors)}`).not.toContain('planted-secret')
  })

  test('send traces nowhere unless an endpoint is set, and then to its path for traces', () => {
    const traces = (env: Record<string, string>) => loadSettings({ ...whole, ...env }, files()).traces
    expect(traces({ OTEL_SERVICE_NAME: 'x', OTEL_SDK_DISABLED: 'true' })).toBeNull()
    const base = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318/' }
    expect(traces(base)).toEqual({
      url: 'http://collector.example:4318/v1/traces',
      headers: {},
      service: 'disclosure-bridge',
      ratio: 1,
    })
    const given = {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/otlp/in',
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20key, x-tenant=desk',
      OTEL_SERVICE_NAME: 'bridge',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
    }
    expect(traces({ ...base, ...given })).toEqual({
      url: 'https://traces.example/otlp/in',
      headers: { 'api-key': 'a key', 'x-tenant': 'desk' },
      service: 'bridge',
      ratio: 0.25,
    })
    expect(loadSettings({ ...whole, ...given }, files()).summary.OTEL_EXPORTER_OTLP_HEADERS).toBe('(set)')
  })

  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:word@collector.example'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'https://traces.example/in?key=1'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'api-key'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'api-key=%zz'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'api-key=a%0d%0ab'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.1'],
    ['OTEL_TRACES_SAMPLER_ARG', 'always_on'],
  ])('refuse a %s that nobody can use: %s', (name, text) => {
    const error = wrong({ ...whole, [name]: text })
    expect(error.errors.map(({ field }) => field)).toEqual([name])
  })

  test('summarise webhook targets: nets and ports as lists', () => {
    expect(loadSettings(whole, files()).webhooks).toEqual({
      allowNets: [],
      allowHttp: false,
      ports: [443, 8443],
      proxy: null,
    })
    const given = {
      BRIDGE_WEBHOOK_ALLOW_NETS: '127.0.0.0/8, fd00::/8',
      BRIDGE_WEBHOOK_ALLOW_HTTP: 'true',
      BRIDGE_WEBHOOK_PORTS: '9443',
      BRIDGE_WEBHOOK_PROXY: 'http://user:word@proxy.example:3128',
    }
    expect(loadSettings({ ...whole, ...given }, files()).webhooks).toEqual({
      allowNets: ['127.0.0.0/8', 'fd00::/8'],
      allowHttp: true,
      ports: [9443],
      proxy: 'http://user:word@proxy.example:3128',
    })
  })

  test('have a default that is valid for their own field, and a description', () => {
    for (const name of settingNames) {
      const doc = docOf(name)
      expect(doc.meaning).not.toBe('')
      if (doc.default !== null && name !== 'BRIDGE_ROLES') {
        const settings = loadSettings({ ...whole, [name]: doc.default }, files())
        expect(settings.summary[name]).toBe(doc.default)
      }
    }
  })

  test('never crash on garbage: it is accepted, or refused as settings', () => {
    fc.assert(
      fc.property(fc.constantFrom(...settingNames), fc.string({ unit: 'binary' }), (name, text) => {
        try {
          loadSettings({ ...whole, [name]: text }, files())
        } catch (error) {
          expect(error).toMatchObject({ code: 'settings' })
        }
      }),
    )
  })
})

describe('the share of the fund gateway', () => {
  test('is at most half of the quota if this process polls: polls need the rest', () => {
    const share = (units: string, roles: string) =>
      loadSettings(
        {
          ...whole,
          BRIDGE_ROLES: roles,
          BRIDGE_UPSTREAM_WEEKLY_QUOTA: '1001',
          BRIDGE_GATEWAY_WEEKLY_UNITS: units,
        },
        files(),
      )
    expect(share('500', 'all').gatewayUnits).toBe(500)
    expect(() => share('501', 'all')).toThrow('BRIDGE_GATEWAY_WEEKLY_UNITS is wrong')
    expect(share('501', 'api').gatewayUnits).toBe(501)
  })
})

describe('durations', () => {
  test.each([
    ['P1D', 86_400_000],
    ['PT30S', 30_000],
    ['P1Y', 365 * 86_400_000],
    ['P1M', 30 * 86_400_000],
    ['PT1M', 60_000],
    ['P1W2DT3H4M5.250S', (9 * 24 + 3) * 3_600_000 + 4 * 60_000 + 5250],
    ['PT0S', 0],
  ])('%s is %d ms', (text, durationMs) => {
    expect(parseDuration(text)).toBe(durationMs)
  })

  test.each(['', 'P', 'PT', 'P1', '1D', 'P1DT', 'PT1D', 'P1S', 'P-1D', 'P1.5DT1H', 'p1d', ' P1D'])(
    'refuses "%s"',
    (text) => {
      expect(parseDuration(text)).toBeNull()
    },
  )
})

test('one port for both listeners is refused, with the reason', () => {
  const env = {
    BRIDGE_ROLES: 'poller',
    BRIDGE_UPSTREAM_KEY: 'k',
    BRIDGE_UPSTREAM_URL: 'https://a.example/v2',
  }
  const errorsOf = (more: Record<string, string>) => examineSettings({ ...env, ...more }, () => '').errors
  const same = { BRIDGE_HTTP_PORT: '9000', BRIDGE_OPS_PORT: '9000' }
  expect(errorsOf(same)).toMatchObject([
    { field: 'BRIDGE_OPS_PORT', message: expect.stringContaining('must differ from BRIDGE_HTTP_PORT') },
  ])
  expect(errorsOf({ ...same, BRIDGE_OPS_HOST: '0.0.0.0' })).toHaveLength(1)
  expect(errorsOf({ ...same, BRIDGE_OPS_HOST: '127.0.0.2' })).toEqual([])
  expect(errorsOf({ BRIDGE_HTTP_PORT: '0', BRIDGE_OPS_PORT: '0' })).toEqual([])
})

test('missing settings are reported as missing, wrong ones as wrong', () => {
  const load = () =>
    loadSettings({ BRIDGE_ROLES: 'feed', BRIDGE_ADMIN_TOKEN: 'short', BRIDGE_HTTP_PORT: 'x' }, () => '')
  expect(load).toThrow('BRIDGE_SECRET_KEY is missing; BRIDGE_HTTP_PORT, BRIDGE_ADMIN_TOKEN are wrong')
  expect(() => loadSettings({ BRIDGE_ROLES: 'feed,api' }, () => '')).toThrow(
    'BRIDGE_ADMIN_TOKEN, BRIDGE_SECRET_KEY are missing',
  )
})
