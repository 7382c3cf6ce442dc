/**
 * Changes the files of the Kafka client's certificates and password under a running bridge and under open sessions, before a
 * broker with mutual TLS and passwords.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { kafkaSessions } from '../../../src/log-kafka/client/client.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { KafkaCredentialFiles } from '../../../src/settings/kafka-credentials.ts'
import { type BridgeProcess, temporaryDirectory } from '../../support/bridge-process.ts'
import { bearer, eventually, pullAll } from '../../support/http/api-client.ts'
import { createAuthority } from '../../support/kafka/certificates.ts'
import { kafkaRuntime } from '../../support/kafka/for-tests.ts'
import { kafkaNodesOfTest } from '../../support/kafka/kafka-nodes.ts'
import { type SecuredBroker, startSecuredBroker } from '../../support/kafka/secured.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createTestAuthority, type TestCertificate } from '../../support/test-certificates.ts'

const runtime = await kafkaRuntime()
/** Long enough for a bridge to create its topics with it on a busy machine. */
const SHORT_LIFE_MS = 60_000
const HOUR_MS = 3_600_000
/** Two looks and more. */
const LOOKS_MS = 12_000
const COMING_BACK_MS = 60_000

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe.skipIf(runtime === null)('files of credentials that change', () => {
  const clients = createTestAuthority('clients')
  let secured: SecuredBroker
  beforeAll(async () => {
    if (runtime !== null) secured = await startSecuredBroker(runtime, clients.ca)
  })
  afterAll(() => secured?.stop())

  /** A folder with files. */
  function folder() {
    const directory = temporaryDirectory()
    onTestFinished(() => directory[Symbol.dispose]())
    const path = (name: string): string => join(directory.path, name)
    const write = (name: string, text: string): void => writeFileSync(path(name), text)
    const writePair = ({ cert, key }: TestCertificate): void => {
      write('cert.pem', cert)
      write('key.pem', key)
    }
    return { path, write, writePair }
  }

  it('a bridge goes on with the renewed certificate once the first has expired; a bad file changes nothing', async () => {
    const { path, write, writePair } = folder()
    const beganMs = Date.now()
    const expiresMs = Math.floor((beganMs + SHORT_LIFE_MS) / 1000) * 1000
    const first = clients.issue(['bridge'], { fromMs: beganMs - HOUR_MS, toMs: expiresMs })
    const renewedToMs = Math.floor((beganMs + HOUR_MS) / 1000) * 1000
    const renewed = clients.issue(['bridge'], { fromMs: beganMs - HOUR_MS, toMs: renewedToMs })
    write('ca.pem', secured.authority.ca)
    writePair(first)
    const sandbox = await startSandbox(
      { scenario: 'demo', plan: 'advanced', weeklyQuota: 1_000_000 },
      { clock: systemClock },
    )
    onTestFinished(() => sandbox.close())
    const start = kafkaNodesOfTest('credentials', secured.cluster.addresses('MTLS'), sandbox, {
      BRIDGE_KAFKA_TLS_CA_FILE: path('ca.pem'),
      BRIDGE_KAFKA_TLS_CERT_FILE: path('cert.pem'),
      BRIDGE_KAFKA_TLS_KEY_FILE: path('key.pem'),
    })
    const bridge = await start('all')
    const lines = (event: string) =>
      bridge
        .stderr()
        .split('\n')
        .filter((line) => line.includes(`"event":"${event}"`))
    expect(await expiryMs(bridge)).toBe(expiresMs)

    write('key.pem', clients.issue(['another']).key)
    await eventually(
      () => lines('kafka.certificate_refused').length,
      (count) => count > 0,
    )
    bridge.child.kill('SIGHUP')
    await pause(LOOKS_MS)
    expect(lines('kafka.certificate_refused')).toHaveLength(1)
    expect(JSON.parse(`${lines('kafka.certificate_refused')[0]}`)).toMatchObject({
      level: 'error',
      error: { hint: expect.stringContaining('stays in use') },
    })
    expect(await expiryMs(bridge)).toBe(expiresMs)

    writePair(renewed)
    bridge.child.kill('SIGHUP')
    await eventually(
      () => lines('kafka.certificate_reloaded').length,
      (count) => count === 1,
    )
    expect(Date.now(), 'the first certificate was renewed too late').toBeLessThan(expiresMs)
    expect(await expiryMs(bridge)).toBe(renewedToMs)

    // Every connection ends, and the broker takes the first certificate no more.
    const [node] = secured.cluster.nodes
    await node?.kill()
    await pause(Math.max(0, expiresMs - Date.now()) + 1_000)
    await node?.start()
    await expect(enter(secured, first)).rejects.toThrow()
    expect(await enter(secured, renewed)).toBe(1)
    const before = (await pullAll(bridge.ready.http)).length
    const status = await eventually(
      () => newToken(bridge),
      (code) => code !== 503,
      COMING_BACK_MS,
    )
    expect(status).toBe(201)
    await eventually(
      async () => (await pullAll(bridge.ready.http)).length,
      (count) => count > before,
      COMING_BACK_MS,
    )
    expect(bridge.child.exitCode).toBeNull()
  }, 240_000)

  it('new connections trust the authorities and give the password of the moment, and open ones live on', async () => {
    const { path, write } = folder()
    const { authority, user } = secured
    const stranger = await createAuthority(path('stranger'))
    write('ca.pem', authority.ca)
    write('password', user.password)
    const { logger, lines } = keepingLogger()
    const kafka = {
      brokers: secured.cluster.addresses('SASL_TLS'),
      tls: { ca: authority.ca, cert: null, key: null },
      sasl: { mechanism: 'scram-sha-512' as const, ...user },
      files: { ca: path('ca.pem'), password: path('password') },
    }
    const files = new KafkaCredentialFiles({ kafka, onSecret: () => undefined, clock: systemClock, logger })
    const end = new AbortController()
    const following = files.run(end.signal)
    const openSession = kafkaSessions(
      { ...kafka, clientId: 'test', credentials: () => files.current },
      keepingLogger().logger,
    )
    const changed = async (name: string, text: string): Promise<void> => {
      const before = lines.length
      write(name, text)
      process.emit('SIGHUP', 'SIGHUP')
      await eventually(
        () => lines.length,
        (count) => count > before,
      )
    }
    const enterAnew = async (): Promise<number> => {
      const session = openSession()
      try {
        return await brokersOf(session.kafka.admin())
      } finally {
        session.end()
      }
    }
    const open = openSession()
    try {
      const admin = open.kafka.admin()
      expect(await brokersOf(admin)).toBe(1)
      await changed('password', 'not-the-password')
      await expect(enterAnew()).rejects.toThrow(/[Aa]uthentication/)
      expect((await admin.describeCluster()).brokers).toHaveLength(1)
      await changed('password', `${user.password}\n`)
      expect(await enterAnew()).toBe(1)
      await changed('ca.pem', stranger.ca)
      await expect(enterAnew()).rejects.toThrow(/certificate/)
      expect((await admin.describeCluster()).brokers).toHaveLength(1)
      await changed('ca.pem', `${stranger.ca}${authority.ca}`)
      expect(await enterAnew()).toBe(1)
    } finally {
      open.end()
      end.abort()
      await following
    }
    expect(lines.map(({ event }) => event)).toEqual([
      'kafka.password_reloaded',
      'kafka.password_reloaded',
      'kafka.certificate_reloaded',
      'kafka.certificate_reloaded',
    ])
  }, 60_000)
})

interface Admin {
  connect(): Promise<void>
  describeCluster(): Promise<{ brokers: readonly unknown[] }>
}

async function brokersOf(admin: Admin): Promise<number> {
  await admin.connect()
  return (await admin.describeCluster()).brokers.length
}

/** The brokers that a new client with this certificate sees; throws why it is refused. */
async function enter({ cluster, authority }: SecuredBroker, { cert, key }: TestCertificate): Promise<number> {
  const open = kafkaSessions(
    {
      brokers: cluster.addresses('MTLS'),
      clientId: 'test',
      tls: { ca: authority.ca, cert, key },
      sasl: null,
    },
    keepingLogger().logger,
  )
  const session = open()
  try {
    return await brokersOf(session.kafka.admin())
  } finally {
    session.end()
  }
}

/** When the client's certificate expires, as the metric says. */
async function expiryMs({ ready }: BridgeProcess): Promise<number> {
  const text = await (await fetch(`${ready.ops}/metrics`)).text()
  const line = /^bridge_tls_certificate_expiry_timestamp_seconds\{.*certificate="kafka_client".*\} (\S+)$/m
  return Number(line.exec(text)?.[1]) * 1000
}

/** The status of a request that writes to Kafka. */
async function newToken({ ready }: BridgeProcess): Promise<number> {
  const response = await fetch(`${ready.http}/v1/tokens`, {
    method: 'POST',
    headers: { ...bearer, 'content-type': 'application/json' },
    body: JSON.stringify({ tenant: 'desk', name: 'after the renewal', scopes: ['events:read'] }),
  })
  await response.arrayBuffer()
  return response.status
}
