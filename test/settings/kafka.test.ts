import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BridgeError } from '../../src/errors.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { createAuthority, type KeyPair } from '../support/kafka/certificates.ts'

const BROKERS = { BRIDGE_KAFKA_BROKERS: 'one.example:9092, two_2:9093' }
const PASSWORD = 'broker-password-planted'
const SASL = {
  BRIDGE_KAFKA_SASL_MECHANISM: 'scram-sha-512',
  BRIDGE_KAFKA_SASL_USERNAME: 'bridge',
  BRIDGE_KAFKA_SASL_PASSWORD: PASSWORD,
}
const folder = temporaryDirectory()
const contents: Record<string, string> = {}
let ca = ''
let client: KeyPair

beforeAll(async () => {
  const authority = await createAuthority(folder.path)
  client = await authority.issue('client')
  const other = await authority.issue('other')
  ca = authority.ca
  const locked = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'word' },
  })
  Object.assign(contents, {
    ca,
    cert: client.cert,
    key: client.key,
    otherKey: other.key,
    lockedKey: locked.privateKey,
    cut: `${ca}\n${ca.slice(0, ca.length / 2)}`,
    damaged: ca.replace(/\n[A-Za-z0-9+/]{20}/, '\nAAAAAAAAAAAAAAAAAAAA'),
    password: `${PASSWORD}\n`,
  })
})
afterAll(() => folder[Symbol.dispose]())

/** Settings of a node that needs only a token and a key, plus these. */
function load(env: Record<string, string>) {
  return loadSettings(
    {
      BRIDGE_ROLES: 'api',
      BRIDGE_ADMIN_TOKEN: 'admin token planted 1',
      BRIDGE_SECRET_KEY: 'a-secret-key-planted-of-32-characters',
      ...env,
    },
    (path) => {
      const text = contents[path]
      if (text !== undefined) return text
      throw Object.assign(new Error(`no such file: ${path}`), { code: path === 'mine' ? 'EACCES' : 'ENOENT' })
    },
  )
}

/** The errors of these settings, by name. */
function wrong(env: Record<string, string>): Record<string, string> {
  try {
    load(env)
  } catch (error) {
    if (error instanceof BridgeError && error.code === 'settings') {
      return Object.fromEntries(error.errors.map(({ field, message }) => [field, message]))
    }
    throw error
  }
  throw new Error('these settings were taken')
}

describe('settings of Kafka', () => {
  test('are absent without brokers: the embedded log', () => {
    expect(load({}).kafka).toBeNull()
  })

  test('need only the brokers', () => {
    expect(load(BROKERS).kafka).toEqual({
      brokers: ['one.example:9092', 'two_2:9093'],
      tls: null,
      sasl: null,
      files: {},
      topics: {
        prefix: 'disclosures',
        replication: null,
        retentionMs: 365 * 86_400_000,
        allRetentionMs: null,
      },
    })
  })

  test('set the properties of new topics', () => {
    const { kafka } = load({
      ...BROKERS,
      BRIDGE_TOPIC_PREFIX: 'uk.news',
      BRIDGE_TOPIC_REPLICATION: '2',
      BRIDGE_TOPIC_RETENTION: 'P30D',
      BRIDGE_ALL_RETENTION: 'P2Y',
    })
    expect(kafka?.topics).toEqual({
      prefix: 'uk.news',
      replication: 2,
      retentionMs: 30 * 86_400_000,
      allRetentionMs: 730 * 86_400_000,
    })
  })

  test('turn encryption on by a keyword or by a file', () => {
    expect(load({ ...BROKERS, BRIDGE_KAFKA_TLS: 'true' }).kafka?.tls).toEqual({
      ca: null,
      cert: null,
      key: null,
    })
    expect(load({ ...BROKERS, BRIDGE_KAFKA_TLS: 'false' }).kafka?.tls).toBeNull()
    expect(load({ ...BROKERS, BRIDGE_KAFKA_TLS_CA_FILE: 'ca' }).kafka?.tls?.ca).toBe(ca)
    const mutual = load({
      ...BROKERS,
      BRIDGE_KAFKA_TLS_CERT_FILE: 'cert',
      BRIDGE_KAFKA_TLS_KEY_FILE: 'key',
    })
    expect(mutual.kafka?.tls).toEqual({ ca: null, cert: client.cert, key: client.key })
    expect(mutual.kafka?.files).toEqual({ cert: 'cert', key: 'key' })
  })

  test('read the password from a file, and show it nowhere', () => {
    const { BRIDGE_KAFKA_SASL_PASSWORD, ...user } = SASL
    const tls = { BRIDGE_KAFKA_TLS: 'true' }
    const settings = load({ ...BROKERS, ...tls, ...user, BRIDGE_KAFKA_SASL_PASSWORD_FILE: 'password' })
    expect(settings.kafka?.sasl).toEqual({
      mechanism: 'scram-sha-512',
      username: 'bridge',
      password: BRIDGE_KAFKA_SASL_PASSWORD,
    })
    expect(settings.kafka?.files).toEqual({ password: 'password' })
    expect(settings.secrets).toContain(PASSWORD)
    expect(JSON.stringify([settings.summary, settings.warnings])).not.toContain(PASSWORD)
    expect(settings.warnings).toEqual([])
  })

  test('warn about a password that travels readable', () => {
    const plain = { ...BROKERS, ...SASL, BRIDGE_KAFKA_SASL_MECHANISM: 'plain' }
    expect(load(plain).warnings).toEqual([expect.stringContaining('BRIDGE_KAFKA_TLS')])
    expect(load({ ...BROKERS, ...SASL }).warnings).toEqual([])
  })

  test.each([
    ['BRIDGE_KAFKA_BROKERS', 'one.example', 'host:port'],
    ['BRIDGE_KAFKA_BROKERS', 'kafka://one.example:9092', 'host:port'],
    ['BRIDGE_KAFKA_BROKERS', '[::1]:9092', 'host:port'],
    ['BRIDGE_KAFKA_BROKERS', 'one.example:0', 'host:port'],
    ['BRIDGE_KAFKA_SASL_MECHANISM', 'SCRAM-SHA-256', 'scram-sha-256'],
    ['BRIDGE_TOPIC_PREFIX', 'with blank', 'letters, digits'],
    ['BRIDGE_TOPIC_PREFIX', 'ends.', 'both ends'],
    ['BRIDGE_TOPIC_REPLICATION', '0', 'from 1'],
    ['BRIDGE_TOPIC_RETENTION', 'PT1M', 'P1M is a month'],
    ['BRIDGE_ALL_RETENTION', 'forever', 'P1Y'],
    ['BRIDGE_ALL_RETENTION', 'P6D', 'at least P7D'],
  ])('refuse %s = %s with the correct form', (name, text, advice) => {
    const errors = wrong({ ...BROKERS, ...(name.includes('SASL') ? SASL : {}), [name]: text })
    expect(Object.keys(errors)).toEqual([name])
    expect(errors[name]).toContain(advice)
  })

  test.each([
    [{ BRIDGE_KAFKA_TLS_CA_FILE: 'none' }, 'BRIDGE_KAFKA_TLS_CA_FILE', 'no such file'],
    [{ BRIDGE_KAFKA_TLS_CA_FILE: 'mine' }, 'BRIDGE_KAFKA_TLS_CA_FILE', 'may not read'],
    [{ BRIDGE_KAFKA_TLS_CA_FILE: 'key' }, 'BRIDGE_KAFKA_TLS_CA_FILE', 'BEGIN CERTIFICATE'],
    [{ BRIDGE_KAFKA_TLS_CA_FILE: 'cut' }, 'BRIDGE_KAFKA_TLS_CA_FILE', 'END CERTIFICATE'],
    [{ BRIDGE_KAFKA_TLS_CA_FILE: 'damaged' }, 'BRIDGE_KAFKA_TLS_CA_FILE', 'damaged'],
    [{ BRIDGE_KAFKA_TLS: 'false', BRIDGE_KAFKA_TLS_CA_FILE: 'ca' }, 'BRIDGE_KAFKA_TLS_CA_FILE', 'true'],
    [{ BRIDGE_KAFKA_TLS_CERT_FILE: 'cert' }, 'BRIDGE_KAFKA_TLS_KEY_FILE', 'required'],
    [{ BRIDGE_KAFKA_TLS_KEY_FILE: 'key' }, 'BRIDGE_KAFKA_TLS_CERT_FILE', 'required'],
    [
      { BRIDGE_KAFKA_TLS_CERT_FILE: 'cert', BRIDGE_KAFKA_TLS_KEY_FILE: 'ca' },
      'BRIDGE_KAFKA_TLS_KEY_FILE',
      'private key',
    ],
    [
      { BRIDGE_KAFKA_TLS_CERT_FILE: 'cert', BRIDGE_KAFKA_TLS_KEY_FILE: 'lockedKey' },
      'BRIDGE_KAFKA_TLS_KEY_FILE',
      'openssl pkey',
    ],
    [
      { BRIDGE_KAFKA_TLS_CERT_FILE: 'cert', BRIDGE_KAFKA_TLS_KEY_FILE: 'otherKey' },
      'BRIDGE_KAFKA_TLS_KEY_FILE',
      'does not hold the key of the certificate',
    ],
  ])('refuse %o: it is %s', (env, name, advice) => {
    const errors = wrong({ ...BROKERS, ...env })
    expect(Object.keys(errors)).toEqual([name])
    expect(errors[name]).toContain(advice)
  })

  test('require a complete login or none', () => {
    const { BRIDGE_KAFKA_SASL_USERNAME } = SASL
    expect(Object.keys(wrong({ ...BROKERS, BRIDGE_KAFKA_SASL_USERNAME })).sort()).toEqual([
      'BRIDGE_KAFKA_SASL_MECHANISM',
      'BRIDGE_KAFKA_SASL_PASSWORD',
    ])
    const { BRIDGE_KAFKA_SASL_PASSWORD, ...user } = SASL
    const errors = wrong({ ...BROKERS, ...user, BRIDGE_KAFKA_SASL_PASSWORD_FILE: 'none' })
    expect(Object.keys(errors)).toEqual(['BRIDGE_KAFKA_SASL_PASSWORD_FILE'])
  })

  test('are refused without brokers if they would be silently unused, and noted if they do no harm', () => {
    expect(Object.keys(wrong({ ...SASL, BRIDGE_KAFKA_TLS: 'true' })).sort()).toEqual([
      'BRIDGE_KAFKA_SASL_MECHANISM',
      'BRIDGE_KAFKA_SASL_PASSWORD',
      'BRIDGE_KAFKA_SASL_USERNAME',
      'BRIDGE_KAFKA_TLS',
    ])
    expect(load({ BRIDGE_TOPIC_PREFIX: 'mine' }).warnings).toEqual([
      'BRIDGE_TOPIC_PREFIX has no effect on the embedded log, which is used without BRIDGE_KAFKA_BROKERS',
      expect.stringMatching(/^BRIDGE_ROLES has no poller/),
    ])
  })

  test('BRIDGE_ALL_RETENTION is that of the embedded log without brokers, and no warning', () => {
    const { embeddedRetentionMs, warnings } = load({ BRIDGE_ALL_RETENTION: 'P1Y' })
    expect(embeddedRetentionMs).toBe(365 * 86_400_000)
    expect(warnings.join()).not.toContain('BRIDGE_ALL_RETENTION')
    expect(load({}).embeddedRetentionMs).toBeNull()
    expect(load({ ...BROKERS, BRIDGE_ALL_RETENTION: 'P1Y' }).embeddedRetentionMs).toBeNull()
  })
})
