/**
 * Follows the files of the Kafka client's certificates and password, and gives what they hold now for new connections. A file
 * that cannot be used, or that is still being written, leaves the content in use.
 */
import { createSecureContext } from 'node:tls'
import { BridgeError, type FieldError } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { type FollowedFiles, followFiles, type ReadSeen } from '../lifecycle/followed-files.ts'
import type { Logger } from '../obs/logger.ts'
import type { KafkaFiles, KafkaSettings } from './kafka.ts'
import { earliestExpiryMs, readCertificates, readCertificateWithKey } from './pem.ts'

/** What a connection to a broker is opened with. */
export type KafkaCredentials = Pick<KafkaSettings, 'tls' | 'sasl'>

/** What the files need. */
export interface KafkaCredentialParts {
  /** As the start has read them. */
  kafka: Pick<KafkaSettings, 'tls' | 'sasl' | 'files'>
  /** Called with each further password, before it is used: no log line may show it. */
  onSecret: (password: string) => void
  clock: Clock
  logger: Logger
}

type TlsTexts = NonNullable<KafkaCredentials['tls']>

const CA = 'BRIDGE_KAFKA_TLS_CA_FILE'
const CERT = 'BRIDGE_KAFKA_TLS_CERT_FILE'
const KEY = 'BRIDGE_KAFKA_TLS_KEY_FILE'
const KEPT = 'What was read before stays in use for new connections.'

/** The credentials of the Kafka client. */
export class KafkaCredentialFiles {
  readonly #parts: KafkaCredentialParts
  readonly #files: KafkaFiles
  #tls: KafkaCredentials['tls']
  #sasl: KafkaCredentials['sasl']

  constructor(parts: KafkaCredentialParts) {
    this.#parts = parts
    const { tls, sasl, files } = parts.kafka
    this.#tls = tls
    this.#sasl = sasl
    this.#files = files
  }

  /** For the next connection. */
  get current(): KafkaCredentials {
    return { tls: this.#tls, sasl: this.#sasl }
  }

  /** Whether there is a file to follow. */
  get hasFiles(): boolean {
    return Object.keys(this.#files).length > 0
  }

  /** Follows the files until the signal aborts. The authorities, the client's certificate and the password change by themselves. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts
    const { ca, cert, key, password } = this.#files
    const following: Promise<void>[] = []
    if (ca !== undefined) following.push(followFiles(this.#authorities(ca), clock, signal))
    if (cert !== undefined && key !== undefined) {
      following.push(followFiles(this.#client({ cert, key }), clock, signal))
    }
    if (password !== undefined) following.push(followFiles(this.#password(password), clock, signal))
    await Promise.all(following)
  }

  #authorities(path: string): FollowedFiles<Partial<TlsTexts>> {
    return {
      paths: [path],
      texts: [this.#tls?.ca ?? ''],
      read: (seen) => usable((errors) => ({ ca: readCertificates({ field: CA, path }, seen, errors) })),
      take: (texts) => this.#takeTls(texts, CA, texts.ca),
      refuse: (error) => this.#parts.logger.error('kafka.certificate_refused', { name: CA, error }),
    }
  }

  #client({ cert, key }: { cert: string; key: string }): FollowedFiles<Partial<TlsTexts>> {
    const files = { cert: { field: CERT, path: cert }, key: { field: KEY, path: key } }
    return {
      paths: [cert, key],
      texts: [this.#tls?.cert ?? '', this.#tls?.key ?? ''],
      read: (seen) => usable((errors) => readCertificateWithKey(files, seen, errors)),
      take: (texts) => this.#takeTls(texts, CERT, texts.cert),
      refuse: (error) => this.#parts.logger.error('kafka.certificate_refused', { name: CERT, error }),
    }
  }

  #takeTls(texts: Partial<TlsTexts>, name: string, certificates: string | null | undefined): void {
    this.#tls = { ca: null, cert: null, key: null, ...this.#tls, ...texts }
    const until = new Date(earliestExpiryMs(certificates ?? '')).toISOString()
    this.#parts.logger.info('kafka.certificate_reloaded', { name, until })
  }

  #password(path: string): FollowedFiles<string> {
    const { logger, onSecret } = this.#parts
    return {
      paths: [path],
      texts: [this.#sasl?.password ?? ''],
      read: (seen) => passwordIn(path, seen),
      take: (password) => {
        onSecret(password)
        if (this.#sasl !== null) this.#sasl = { ...this.#sasl, password }
        logger.info('kafka.password_reloaded')
      },
      refuse: (error) => logger.error('kafka.password_refused', { error }),
    }
  }
}

/** The texts, which make a TLS context. @throws BridgeError `settings` that says what is wrong with which file */
function usable(read: (errors: FieldError[]) => Partial<TlsTexts>): Partial<TlsTexts> {
  const errors: FieldError[] = []
  const texts = read(errors)
  if (errors.length > 0) {
    throw refusal(errors.map(({ field, message }) => `${field} ${message}`).join('; '), { errors })
  }
  const given = Object.entries(texts).filter(([, text]) => text !== null)
  try {
    createSecureContext(Object.fromEntries(given))
  } catch (cause) {
    throw refusal('TLS does not take the changed files', { cause })
  }
  return texts
}

function refusal(message: string, more: { errors?: FieldError[]; cause?: unknown }): BridgeError {
  return new BridgeError('settings', message, {
    ...more,
    hint: `${KEPT} Put whole PEM files in place: certificates, and the key of the first one without a passphrase.`,
  })
}

function passwordIn(path: string, seen: ReadSeen): string {
  const about = 'the file of BRIDGE_KAFKA_SASL_PASSWORD_FILE'
  const hint = `${KEPT} Write the password alone into the file.`
  let password: string
  try {
    password = seen(path)
  } catch (cause) {
    throw new BridgeError('settings', `${about} cannot be read`, { hint, cause })
  }
  if (password === '') throw new BridgeError('settings', `${about} is empty`, { hint })
  return password
}
