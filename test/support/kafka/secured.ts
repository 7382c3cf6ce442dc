/** Starts a broker with listeners for TLS, mutual TLS, and SASL PLAIN and SCRAM with and without TLS. */
import { rmSync } from 'node:fs'
import { type Authority, createAuthority, type KeyPair } from './certificates.ts'
import { type KafkaCluster, startCluster } from './cluster.ts'
import { makeBrokerFolder } from './runtime/leftovers.ts'
import type { KafkaRuntime } from './runtime/runtime.ts'
import type { ListenerSpec } from './runtime/server-properties.ts'

/** The listeners besides the plain one: encrypted; with a client's certificate too; with a password; with both. */
export type SecureListener = 'TLS' | 'MTLS' | 'SASL' | 'SASL_TLS'

/** A broker behind locked doors, and the keys. Disposing of it removes both. */
export interface SecuredBroker extends AsyncDisposable {
  readonly cluster: KafkaCluster
  /** Signed the broker's certificate, and is what the broker trusts. */
  readonly authority: Authority
  /** A certificate that `MTLS` lets in. */
  readonly client: KeyPair
  /** Who the SASL listeners let in: the same name and password with `plain`, `scram-sha-256`, `scram-sha-512`. */
  readonly user: { readonly username: string; readonly password: string }
  stop(): Promise<void>
}

const USER = { username: 'bridge', password: 'opens-the-test-broker' }
const SCRAM_MECHANISMS = ['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const
const LOGIN_MODULES = 'org.apache.kafka.common.security'

/**
 * Starts one broker with all four listeners. `alsoTrusted`: the PEM text of an authority that signs clients too.
 * @throws Error when openssl is missing, or the broker does not come up
 */
export async function startSecuredBroker(runtime: KafkaRuntime, alsoTrusted = ''): Promise<SecuredBroker> {
  const folder = makeBrokerFolder()
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    const authority = await createAuthority(folder)
    const [server, client] = await Promise.all([authority.issue('broker'), authority.issue('client')])
    const cluster = await startCluster({
      runtime,
      listeners: secureListeners(server, `${authority.ca}${alsoTrusted}`),
      scramUsers: SCRAM_MECHANISMS.map((mechanism) => ({
        mechanism,
        name: USER.username,
        password: USER.password,
      })),
    })
    const stop = async (): Promise<void> => {
      await cluster.stop()
      removeFolder()
    }
    return { cluster, authority, client, user: USER, stop, [Symbol.asyncDispose]: stop }
  } catch (error) {
    removeFolder()
    throw error
  }
}

function secureListeners(server: KeyPair, trusted: string): (ListenerSpec & { name: SecureListener })[] {
  const tls = {
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.key': server.key,
    'ssl.keystore.certificate.chain': server.cert,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.certificates': trusted,
  }
  const passwords = {
    'sasl.enabled.mechanisms': ['PLAIN', ...SCRAM_MECHANISMS].join(','),
    'plain.sasl.jaas.config': `${LOGIN_MODULES}.plain.PlainLoginModule required user_${USER.username}="${USER.password}";`,
    ...Object.fromEntries(
      SCRAM_MECHANISMS.map((mechanism) => [
        `${mechanism.toLowerCase()}.sasl.jaas.config`,
        `${LOGIN_MODULES}.scram.ScramLoginModule required;`,
      ]),
    ),
  }
  return [
    { name: 'TLS', protocol: 'SSL', properties: tls },
    { name: 'MTLS', protocol: 'SSL', properties: { ...tls, 'ssl.client.auth': 'required' } },
    { name: 'SASL', protocol: 'SASL_PLAINTEXT', properties: passwords },
    { name: 'SASL_TLS', protocol: 'SASL_SSL', properties: { ...tls, ...passwords } },
  ]
}
