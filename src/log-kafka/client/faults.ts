/**
 * Classifies errors of kafkajs (fenced, forbidden, non-retriable) and turns them into this program's `BridgeError`, with a
 * hint for the operator.
 */
import { BridgeError, isLogOutage, messageOf, textOf } from '../../errors.ts'

/** INVALID_PRODUCER_EPOCH: a later producer has the transactional id; also the answer for a timed-out transaction. */
const OLD_EPOCH = 47
/** INVALID_PRODUCER_ID_MAPPING: another producer has the transactional id. */
const OTHER_PRODUCER = 49
/** PRODUCER_FENCED, which kafkajs 2.2.4 does not know by name. */
const PRODUCER_FENCED = 'Unknown error code 90'

/** True when a later writer has claimed. */
export function isFencing(error: unknown): boolean {
  return causesOf(error).some(
    (cause) => cause.code === OLD_EPOCH || cause.code === OTHER_PRODUCER || cause.message === PRODUCER_FENCED,
  )
}

/** True when the broker refuses because this user lacks a right. */
export function isForbidden(error: unknown): boolean {
  return causesOf(error).some(({ type }) => type?.endsWith('AUTHORIZATION_FAILED'))
}

/** True for an outage that may be over at the next try: a right that this user lacks is none. */
export function mayPass(error: unknown): boolean {
  return isLogOutage(error) && !isForbidden(error)
}

/** True when repeating the request cannot help: a missing right, a record that is too large, a wrong password. */
export function isFinalRefusal(error: unknown): boolean {
  // Only errors that a broker has answered have a type: kafkajs also calls its own last retry not retriable.
  const isRefused = causesOf(error).some(({ type, retriable }) => type !== undefined && retriable === false)
  return isRefused || nonRetriable(error) !== null
}

/** Errors of a broker that does not create a topic as requested: a policy, a limit, unavailable brokers. */
const TOPIC_REFUSALS = new Set<unknown>([
  'INVALID_CONFIG',
  'INVALID_PARTITIONS',
  'INVALID_REPLICATION_FACTOR',
  'INVALID_TOPIC_EXCEPTION',
  'POLICY_VIOLATION',
])

/** True when the broker has refused to create the topics. False where the outcome is unknown. */
export function isRefusedTopic(error: unknown): boolean {
  return isForbidden(error) || causesOf(error).some(({ type }) => TOPIC_REFUSALS.has(type))
}

/** Errors of a broker for a record above the limit of its topic. */
const SIZE_REFUSALS = new Set<unknown>(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])

/** True when a broker refuses a record because of its size. */
export function isTooLarge(error: unknown): boolean {
  return causesOf(error).some(({ type }) => SIZE_REFUSALS.has(type))
}

/** Errors of a broker whose policy, or whose release, does not accept the settings of a new topic. */
const SETTINGS_REFUSALS = new Set<unknown>(['INVALID_CONFIG', 'POLICY_VIOLATION'])

/** Why the broker refuses the settings of a new topic, in its words; null for every other error. */
export function settingsRefusal(error: unknown): string | null {
  return causesOf(error).find(({ type }) => SETTINGS_REFUSALS.has(type))?.message ?? null
}

/** Node's TLS error codes for a broker certificate that only another setting can make acceptable. */
const UNTRUSTED = new Set<unknown>([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/**
 * The error as `kafka`, which ends the process, when retrying cannot fix it: wrong password, certificate, protocol. null
 * for every other error.
 */
export function nonRetriable(error: unknown): BridgeError | null {
  if (error instanceof BridgeError && error.code === 'kafka') return error
  const hit = causesOf(error).some(
    ({ name, code }) => name === SASL_ERROR || UNTRUSTED.has(code) || /^ERR_SSL_/.test(textOf(code)),
  )
  if (!hit) return null
  return new BridgeError('kafka', `the Kafka brokers refuse this bridge: ${reasonOf(error)}`, {
    hint: hintFor(error),
    cause: error,
  })
}

/** `log_unavailable`: what failed, why, and what to check. A BridgeError stays as it is. */
export function unavailable(doing: string, error: unknown): BridgeError {
  if (error instanceof BridgeError) return error
  return new BridgeError('log_unavailable', `Kafka: ${doing} failed: ${reasonOf(error)}`, {
    hint: hintFor(error),
    cause: error,
  })
}

/** `log_unavailable`: a topic, by its name in the cluster, that no broker knows. */
export function missingTopic(name: string): BridgeError {
  return new BridgeError('log_unavailable', `Kafka: the topic ${name} does not exist`, {
    hint: 'If it is not there a moment later either, it was deleted: bridge doctor says what to do.',
  })
}

/** True when the broker does not know a topic that it was asked about. */
export function isUnknownTopic(error: unknown): boolean {
  return causesOf(error).some(({ type }) => type === 'UNKNOWN_TOPIC_OR_PARTITION')
}

/** `log_unknown`: the writer has ended, and its last transaction may or may not be durable. */
export function unknownOutcome(error: unknown): BridgeError {
  return new BridgeError(
    'log_unknown',
    `it is not known whether the last transaction was committed: ${reasonOf(error)}`,
    {
      hint: `The writer reads what is stored before it writes again. ${hintFor(error)}`,
      cause: error,
    },
  )
}

/** `log_damaged`: a record that this program did not write. `what` names it, e.g. "record 3 of the log has no value". */
export function foreignRecord(what: string): BridgeError {
  return new BridgeError('log_damaged', what, {
    hint: 'Another program writes to the topics of this prefix: stop it, or choose another BRIDGE_TOPIC_PREFIX.',
  })
}

const SASL_ERROR = 'KafkaJSSASLAuthenticationError'

interface Cause {
  message: string
  name: string
  type?: string | undefined
  code?: unknown
  retriable?: boolean | undefined
}

/** The error, its causes and the errors it aggregates, the outermost first. */
function causesOf(error: unknown): Cause[] {
  const found: Cause[] = []
  const waiting = [error]
  while (waiting.length > 0 && found.length < 20) {
    const next = waiting.shift()
    if (!(next instanceof Error)) continue
    const { message, name, type, code, retriable, errors } = next as Cause & { errors?: unknown[] }
    found.push({ message, name, type, code, retriable })
    waiting.push(next.cause, ...(errors ?? []))
  }
  return found
}

/** The innermost message: the outer ones only count retries. */
function reasonOf(error: unknown): string {
  return causesOf(error).at(-1)?.message ?? messageOf(error)
}

function hintFor(error: unknown): string {
  if (error instanceof BridgeError && error.hint !== undefined) return error.hint
  const causes = causesOf(error)
  if (causes.some(({ name }) => name === SASL_ERROR)) {
    return 'Check BRIDGE_KAFKA_SASL_MECHANISM, _USERNAME and _PASSWORD.'
  }
  if (isForbidden(error)) return 'Give this user the rights that the operating guide lists.'
  if (causes.some(({ message }) => /certificate|ssl|tls/i.test(message))) {
    return 'Check BRIDGE_KAFKA_TLS and its files, and that the listener speaks TLS.'
  }
  if (causes.some(({ type }) => type === 'INVALID_REPLICATION_FACTOR')) {
    return 'Start the other brokers, because topics keep the replication they are created with; or set BRIDGE_TOPIC_REPLICATION.'
  }
  // kafkajs gives no other reason when the broker refuses the transactional id or the group to this user.
  if (causes.some(({ name }) => name === 'KafkaJSGroupCoordinatorNotFound')) {
    return 'Check that the brokers run, and that this user has the rights that the operating guide lists.'
  }
  return 'Check that the brokers run and that BRIDGE_KAFKA_BROKERS names them; this process tries again.'
}
