/**
 * What a fault of Kafka means for this program. Owns the reading of kafkajs's errors: fenced or not, and what an
 * operator can do. Refuses to decide what happens next.
 */
import { BridgeError, messageOf } from '../../errors.ts'

/** INVALID_PRODUCER_EPOCH: a later producer has the transactional id; also what a timed-out transaction answers. */
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

/** What a broker says of a topic that it will not make as it is asked for: a policy, a limit, brokers that are away. */
const REFUSALS = new Set<unknown>([
  'INVALID_CONFIG',
  'INVALID_PARTITIONS',
  'INVALID_REPLICATION_FACTOR',
  'INVALID_TOPIC_EXCEPTION',
  'POLICY_VIOLATION',
])

/** True when the broker has answered that it does not make the topics. False where nothing is known of them. */
export function isRefusedTopic(error: unknown): boolean {
  return isForbidden(error) || causesOf(error).some(({ type }) => REFUSALS.has(type))
}

/** Codes of Node's TLS that say of the broker's certificate what only another setting can change. */
const UNTRUSTED = new Set<unknown>([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/**
 * `kafka`, which ends the process: the brokers answer, and what they say will be the same tomorrow (wrong password,
 * certificate, protocol). null for everything that may heal by itself.
 */
export function hopeless(error: unknown): BridgeError | null {
  if (error instanceof BridgeError && error.code === 'kafka') return error
  const hit = causesOf(error).some(
    ({ name, code }) =>
      name === 'KafkaJSSASLAuthenticationError' || UNTRUSTED.has(code) || /^ERR_SSL_/.test(String(code)),
  )
  if (!hit) return null
  return new BridgeError('kafka', `the brokers do not let this bridge in: ${reasonOf(error)}`, {
    hint: hintFor(error),
    cause: error,
  })
}

/** `log_unavailable`: what could not be done, why, and what to look at. A BridgeError stays as it is. */
export function unavailable(doing: string, error: unknown): BridgeError {
  if (error instanceof BridgeError) return error
  return new BridgeError('log_unavailable', `Kafka: ${doing} failed: ${reasonOf(error)}`, {
    hint: hintFor(error),
    cause: error,
  })
}

/** `log_unknown`: the writer is dead, and what it did last may or may not be durable. */
export function unknownOutcome(error: unknown): BridgeError {
  return new BridgeError('log_unknown', `the transaction has no known outcome: ${reasonOf(error)}`, {
    hint: `Claim again: it reads what is stored. ${hintFor(error)}`,
    cause: error,
  })
}

interface Cause {
  message: string
  name: string
  type: string | undefined
  code: unknown
}

/** The error, what it was caused by and what it holds, the outermost first. */
function causesOf(error: unknown): Cause[] {
  const found: Cause[] = []
  const waiting = [error]
  while (waiting.length > 0 && found.length < 20) {
    const next = waiting.shift()
    if (!(next instanceof Error)) continue
    const { type, code, errors } = next as { type?: string; code?: unknown; errors?: unknown[] }
    found.push({ message: next.message, name: next.name, type, code })
    waiting.push(next.cause, ...(errors ?? []))
  }
  return found
}

/** The innermost message: the outer ones only say that something was tried often. */
function reasonOf(error: unknown): string {
  return causesOf(error).at(-1)?.message ?? messageOf(error)
}

function hintFor(error: unknown): string {
  const causes = causesOf(error)
  if (causes.some(({ name }) => name === 'KafkaJSSASLAuthenticationError')) {
    return 'Check BRIDGE_KAFKA_SASL_MECHANISM, _USERNAME and _PASSWORD.'
  }
  if (isForbidden(error)) return 'Give this user the rights that the operating guide lists.'
  if (causes.some(({ message }) => /certificate|ssl|tls/i.test(message))) {
    return 'Check BRIDGE_KAFKA_TLS and its files, and that the listener speaks TLS.'
  }
  if (causes.some(({ type }) => type === 'INVALID_REPLICATION_FACTOR')) {
    return 'Start the other brokers, for topics keep the replication they are made with; or set BRIDGE_TOPIC_REPLICATION.'
  }
  // kafkajs says no more than this when the broker has refused the transactional id or the group to this user.
  if (causes.some(({ name }) => name === 'KafkaJSGroupCoordinatorNotFound')) {
    return 'Check that the brokers run, and that this user has the rights that the operating guide lists.'
  }
  return 'Check that the brokers run and that BRIDGE_KAFKA_BROKERS names them; this process tries again.'
}
