/**
 * Checks the Kafka settings together (brokers, TLS, SASL, topics) and reads the PEM files.
 */
import type { FieldError } from '../errors.ts'
import type { FoundSettings, ReadFile } from './environment.ts'
import { readCertificates, readCertificateWithKey } from './pem.ts'
import type { SettingName, SettingValues } from './schema.ts'

/** Paths of the files that gave parts of the credentials, which are read again while the process runs. */
export interface KafkaFiles {
  ca?: string
  cert?: string
  key?: string
  password?: string
}

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
  files: KafkaFiles
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

/**
 * Checks the Kafka settings together. `given`: the texts that are set, and the files of secrets among them; `wrong`: the names
 * with an error already, which get no second one.
 */
export function examineKafka(
  values: SettingValues,
  given: Pick<FoundSettings, 'texts' | 'files'>,
  wrong: ReadonlySet<string>,
  readFile: ReadFile,
): ExaminedKafka {
  const { BRIDGE_KAFKA_BROKERS: brokers } = values
  if (brokers === undefined) return withoutBrokers(new Set(given.texts.keys()), wrong)
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
  const files = { ...(tls !== null && tlsFiles(values)), ...(sasl !== null && passwordFile(given)) }
  return { ...found, kafka: { brokers, tls, sasl, files, topics } }
}

function tlsFiles(values: SettingValues): KafkaFiles {
  const [ca, cert, key] = FILE_NAMES.map((name) => values[name])
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  }
}

function passwordFile({ files }: Pick<FoundSettings, 'files'>): KafkaFiles {
  const password = files.get('BRIDGE_KAFKA_SASL_PASSWORD')
  return password === undefined ? {} : { password }
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
    warnings: idle('BRIDGE_TOPIC_').map(
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
  const fileOf = (field: (typeof FILE_NAMES)[number]) => ({ field, path: values[field] })
  const ca = readCertificates(fileOf(caName), readFile, found.errors)
  const files = { cert: fileOf(certName), key: fileOf(keyName) }
  return { ca, ...readCertificateWithKey(files, readFile, found.errors) }
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
