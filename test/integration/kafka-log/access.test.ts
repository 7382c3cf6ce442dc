/** Tests that a broker with TLS, client certificates or passwords accepts valid credentials and no others. */
import type { KafkaConfig, SASLOptions } from 'kafkajs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { exitCodeFor } from '../../../src/errors.ts'
import type { KafkaConnection } from '../../../src/log-kafka/client/client.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { createAuthority } from '../../support/kafka/certificates.ts'
import { kafkaClient } from '../../support/kafka/clients.ts'
import { kafkaRuntime } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { type SecuredBroker, type SecureListener, startSecuredBroker } from '../../support/kafka/secured.ts'

const runtime = await kafkaRuntime()

describe.skipIf(runtime === null)('a broker with authentication', () => {
  let secured: SecuredBroker

  beforeAll(async () => {
    if (runtime !== null) secured = await startSecuredBroker(runtime)
  })
  afterAll(() => secured?.stop())

  /** Whether a client with those settings reaches the cluster through that listener; throws why not. */
  async function enter(listener: SecureListener, options: Partial<KafkaConfig>): Promise<number> {
    const kafka = kafkaClient(secured.cluster.addresses(listener), { retry: { retries: 0 }, ...options })
    const admin = kafka.admin()
    try {
      await admin.connect()
      return (await admin.describeCluster()).brokers.length
    } finally {
      await admin.disconnect()
    }
  }

  it('encrypts for a client that trusts its authority, and fails for one that does not', async () => {
    expect(await enter('TLS', { ssl: { ca: [secured.authority.ca] } })).toBe(1)
    await expect(enter('TLS', { ssl: true })).rejects.toThrow(/certificate/)
    await expect(enter('TLS', {})).rejects.toThrow()
  })

  it('accepts a certificate of its authority, and neither none nor one of another authority', async () => {
    const { authority, client } = secured
    const trust = { ca: [authority.ca] }
    using folder = temporaryDirectory()
    const stranger = await createAuthority(folder.path)
    const { key, cert } = await stranger.issue('client')
    expect(await enter('MTLS', { ssl: { ...trust, key: client.key, cert: client.cert } })).toBe(1)
    await expect(enter('MTLS', { ssl: trust })).rejects.toThrow()
    await expect(enter('MTLS', { ssl: { ...trust, key, cert } })).rejects.toThrow()
  })

  it.each(['plain', 'scram-sha-256', 'scram-sha-512'] as const)(
    'requires a password with %s',
    async (mechanism) => {
      const login = (password: string): SASLOptions => ({
        mechanism,
        username: secured.user.username,
        password,
      })
      const right = login(secured.user.password)
      const ssl = { ca: [secured.authority.ca] }
      expect(await enter('SASL', { sasl: right })).toBe(1)
      expect(await enter('SASL_TLS', { ssl, sasl: right })).toBe(1)
      await expect(enter('SASL', { sasl: login('wrong') })).rejects.toThrow(/[Aa]uthentication/)
      await expect(enter('SASL_TLS', { ssl })).rejects.toThrow()
    },
  )

  describe('the product connects', () => {
    const logs = createLogKeeper()
    const { signal } = new AbortController()
    afterEach(() => logs.closeAll())

    /** The end of the unused log, read over this connection. */
    function end(listener: SecureListener, access: Partial<KafkaConnection>) {
      const options = kafkaLogOptions(secured.cluster.addresses(listener))
      const log = logs.open({ ...options, connection: { ...options.connection, ...access } })
      return log.end(signal)
    }
    const unused = { epoch: null, sequence: 0 }

    it('with TLS, a client certificate, or a password', async () => {
      const { authority, client, user } = secured
      const tls = { ca: authority.ca, cert: null, key: null }
      expect(await end('TLS', { tls })).toEqual(unused)
      expect(await end('MTLS', { tls: { ...tls, cert: client.cert, key: client.key } })).toEqual(unused)
      for (const mechanism of ['plain', 'scram-sha-256', 'scram-sha-512'] as const) {
        expect(await end('SASL_TLS', { tls, sasl: { ...user, mechanism } })).toEqual(unused)
      }
    })

    it.each([
      ['a wrong password', 'BRIDGE_KAFKA_SASL', 'SASL', { sasl: 'wrong' }],
      ['an unknown authority', 'BRIDGE_KAFKA_TLS', 'TLS', { tls: 'untrusted' }],
      ['no certificate', 'BRIDGE_KAFKA_TLS', 'MTLS', { tls: 'trusted' }],
    ] as const)(
      'not with %s: the process exits with an error that names %s',
      async (_what, setting, listener, how) => {
        const trusted = { ca: secured.authority.ca, cert: null, key: null }
        const sasl = { mechanism: 'plain' as const, ...secured.user, password: 'wrong' }
        const refused = end(listener, {
          ...('sasl' in how ? { sasl } : {}),
          ...('tls' in how ? { tls: how.tls === 'trusted' ? trusted : { ...trusted, ca: null } } : {}),
        })
        const error = await refused.then(
          () => null,
          (fault: unknown) => fault,
        )
        expect(error).toMatchObject({ code: 'kafka', hint: expect.stringContaining(setting) })
        expect(exitCodeFor(error)).toBe(5)
      },
    )
  })
})
