/**
 * Checks the Kafka settings together (brokers, TLS, SASL, topics) and reads the PEM files.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import type { FieldError } from '../errors.ts'
import type { ReadFile } from './environment.ts'
import type { SettingName, SettingValues } from './schema.ts'

/** Connection and topics. Durations in milliseconds. */
export interface KafkaSettings {
  /** `host:port` of some brokers of the cluster; the others are discovered. */
  brokers: readonly string[]
  /** null: no encryption. PEM texts; `ca` null: the system's certificate authorities. `cert` and `key` come together. */
  tls: { ca: string | null; cert: string | null; key: string | null } | null
  sasl: {
    mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
    username: string
    password: string
  } | null
  topics: {
    prefix: string
    /** null: the smaller of three and the number of brokers. */
    replication: number | null
    /** Category topics, gaps and rejected items. */
    retentionMs: number
    /** The topic of all events; null: for ever. */
    allRetentionMs: number | null
  }
}

/** The checked Kafka settings, their errors and warnings. */
export interface ExaminedKafka {
  /** null without brokers: the embedded log. Wrong parts are left out. */
  kafka: KafkaSettings | null
  errors: FieldError[]
  warnings: string[]
}

const BROKERS = 'BRIDGE_KAFKA_BROKERS'
const SASL_NAMES = [
  'BRIDGE_KAFKA_SASL_MECHANISM',
  'BRIDGE_KAFKA_SASL_USERNAME',
  'BRIDGE_KAFKA_SASL_PASSWORD',
] as const
const FILE_NAMES = [
  'BRIDGE_KAFKA_TLS_CA_FILE',
  'BRIDGE_KAFKA_TLS_CERT_FILE',
  'BRIDGE_KAFKA_TLS_KEY_FILE',
] as const
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/**
 * Checks the Kafka settings together. `given`: the names that are set; `wrong`: those with an error already, which get no
 * second one.
 */
export function examineKafka(
  values: SettingValues,
  given: ReadonlySet<string>,
  wrong: ReadonlySet<string>,
  readFile: ReadFile,
): ExaminedKafka {
  const { BRIDGE_KAFKA_BROKERS: brokers } = values
  if (brokers === undefined) return withoutBrokers(given, wrong)
  const found: ExaminedKafka = { kafka: null, errors: [], warnings: [] }
  const tls = readTls(values, readFile, found)
  const sasl = readSasl(values, wrong, found)
  if (sasl?.mechanism === 'plain' && tls === null) {
    found.warnings.push(
      'BRIDGE_KAFKA_SASL_MECHANISM plain without BRIDGE_KAFKA_TLS sends the password unencrypted',
    )
  }
  const { BRIDGE_TOPIC_PREFIX: prefix, BRIDGE_TOPIC_RETENTION: retentionMs } = values
  if (prefix === undefined || retentionMs === undefined) throw new TypeError('the topics lack a default')
  const topics = {
    prefix,
    replication: values.BRIDGE_TOPIC_REPLICATION ?? null,
    retentionMs,
    allRetentionMs: values.BRIDGE_ALL_RETENTION ?? null,
  }
  return { ...found, kafka: { brokers, tls, sasl, topics } }
}

/** Kafka settings without brokers would be ignored, so they are errors. */
function withoutBrokers(given: ReadonlySet<string>, wrong: ReadonlySet<string>): ExaminedKafka {
  const left = [...given].filter((name) => name !== BROKERS && !wrong.has(name))
  const idle = (prefix: string): string[] => left.filter((name) => name.startsWith(prefix))
  return {
    kafka: null,
    errors: wrong.has(BROKERS)
      ? []
      : idle('BRIDGE_KAFKA_').map((field) => ({
          field,
          message: `has no effect without ${BROKERS}: set that too, or remove this one`,
        })),
    warnings: [...idle('BRIDGE_TOPIC_'), ...idle('BRIDGE_ALL_RETENTION')].map(
      (name) => `${name} has no effect on the embedded log, which is used without ${BROKERS}`,
    ),
  }
}

function readTls(values: SettingValues, readFile: ReadFile, found: ExaminedKafka): KafkaSettings['tls'] {
  const wanted = FILE_NAMES.filter((name) => values[name] !== undefined)
  if (values.BRIDGE_KAFKA_TLS === false) {
    for (const field of wanted) {
      found.errors.push({ field, message: 'is set while BRIDGE_KAFKA_TLS is false: set that to true' })
    }
    return null
  }
  if (values.BRIDGE_KAFKA_TLS === undefined && wanted.length === 0) return null
  const [caName, certName, keyName] = FILE_NAMES
  requireEachOther([certName, keyName], values, new Set(), found)
  const pem = (name: (typeof FILE_NAMES)[number], check: (text: string) => string | null): string | null => {
    const path = values[name]
    if (path === undefined) return null
    const read = readPem(path, readFile, check)
    if ('text' in read) return read.text
    found.errors.push({ field: name, message: read.wrong })
    return null
  }
  const ca = pem(caName, wrongCertificates)
  const cert = pem(certName, wrongCertificates)
  const key = pem(keyName, wrongKey)
  if (cert !== null && key !== null && !new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    found.errors.push({ field: keyName, message: `does not hold the key of the certificate in ${certName}` })
  }
  return { ca, cert, key }
}

function readSasl(
  values: SettingValues,
  wrong: ReadonlySet<string>,
  found: ExaminedKafka,
): KafkaSettings['sasl'] {
  requireEachOther(SASL_NAMES, values, wrong, found)
  const {
    BRIDGE_KAFKA_SASL_MECHANISM: mechanism,
    BRIDGE_KAFKA_SASL_USERNAME: username,
    BRIDGE_KAFKA_SASL_PASSWORD: password,
  } = values
  if (mechanism === undefined || username === undefined || password === undefined) return null
  return { mechanism, username, password }
}

/** Requires all of the names or none. */
function requireEachOther(
  names: readonly SettingName[],
  values: SettingValues,
  wrong: ReadonlySet<string>,
  found: ExaminedKafka,
): void {
  const there = names.filter((name) => values[name] !== undefined)
  if (there.length === 0) return
  for (const field of names) {
    if (values[field] !== undefined || wrong.has(field) || wrong.has(`${field}_FILE`)) continue
    found.errors.push({ field, message: `is required with ${there.join(' and ')}` })
  }
}

/** The file's text, or what is wrong with it, without the path. */
function readPem(
  path: string,
  readFile: ReadFile,
  check: (text: string) => string | null,
): { text: string } | { wrong: string } {
  let text: string
  try {
    text = readFile(path)
  } catch (error) {
    return { wrong: `must name a readable PEM file: ${whyUnreadable(error)}` }
  }
  const wrong = check(text)
  return wrong === null ? { text } : { wrong }
}

function wrongCertificates(text: string): string | null {
  const certificates = text.match(CERTIFICATE)
  if (certificates === null) {
    return 'must name a PEM file with a certificate: the file has no line BEGIN CERTIFICATE'
  }
  try {
    for (const certificate of certificates) new X509Certificate(certificate)
    return null
  } catch {
    return 'must name a PEM file with a certificate: the one in it is damaged'
  }
}

function wrongKey(text: string): string | null {
  if (/BEGIN ENCRYPTED PRIVATE KEY|^Proc-Type: .*ENCRYPTED/m.test(text)) {
    return 'must name a key without a passphrase: decrypt it with openssl pkey, and keep the file readable for this user alone'
  }
  return parsedKey(text) === null ? 'must name a PEM file with a private key: the file has none' : null
}

function parsedKey(text: string): KeyObject | null {
  try {
    return createPrivateKey(text)
  } catch {
    return null
  }
}

function whyUnreadable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'this user may not read the file'
  if (code === 'EISDIR') return 'it is a directory'
  return 'the file cannot be read'
}
