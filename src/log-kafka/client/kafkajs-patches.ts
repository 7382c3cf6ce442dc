/** Replaces methods on the prototypes of kafkajs 2.2.4 that are faulty or waste CPU. */
import type { ISocketFactory, RetryOptions } from 'kafkajs'
import Broker from 'kafkajs/src/broker/index.js'
import Cluster from 'kafkajs/src/cluster/index.js'
import Connection from 'kafkajs/src/network/connection.js'
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import createTopicsRequests from 'kafkajs/src/protocol/requests/createTopics/index.js'
import metadataRequests from 'kafkajs/src/protocol/requests/metadata/index.js'
import { sleep, systemClock } from '../../lifecycle/clock.ts'
import type { AddedPartitions } from './kafkajs-internals.ts'

/** Least pause between two checks of pending requests, ms; kafkajs's own figure. */
const CHECK_MS = 10
/** Between two checks of requests in flight, ms: a request is timed out at most this late. */
const TIMEOUT_CHECK_MS = 1_000
/** API keys. */
const METADATA = 3
const CREATE_TOPICS = 19
/** How long a broker may take to create topics, ms; kafkajs's own figure. */
const CREATION_TIMEOUT_MS = 5_000
/** First pause while transaction markers are written, ms; it doubles. */
const MARKERS_PAUSE_MS = 5
const LONGEST_MARKERS_PAUSE_MS = 100
/** Below the 8 s deadline of a transaction. */
const MARKERS_WAIT_MS = 5_000

const { addPartitionsToTxn } = Broker.prototype
const { push } = RequestQueue.prototype
const { connect: openConnection, send: sendOnConnection } = Connection.prototype

/**
 * Patches kafkajs for every client of this process; may be called again.
 * - The transaction manager takes its retry settings from `cluster.retry`, which kafkajs never sets, so that a takeover
 *   waits 255–360 ms for one CONCURRENT_TRANSACTIONS error (measured; 14–20 ms with this).
 * - The request queue re-arms a timer each millisecond while nothing is pending (2.2–2.8 % of a core; 0.1–0.4 % with
 *   this).
 * - kafkajs checks each connection ten times a second for timed-out requests, a third of the CPU of an idle standby with
 *   six connections (measured; once a second with this). It stops checking when a connection closes, so that a request
 *   sent in that moment waits for ever; here it is checked until it has a response.
 * - A metadata request for all topics (by a new transactional producer, or before topics are created) fails while any
 *   topic of the cluster has no leader. Here such a partition has leader −1, as in Kafka's response.
 * - kafkajs drops the sentence in which a broker says why it does not create a topic. Here it is the error's message.
 * - A send to several brokers is retried when the first of them fails, while the requests to the others are in flight:
 *   their records arrive twice in one transaction. This program therefore sends transactions without kafkajs's retry, and
 *   the usual reason for it, the markers of the transaction before, is waited for here.
 * - kafkajs says nothing of requests that fail. Here the observer on a session's socket factory hears of each connection and
 *   of each request.
 */
export function patchKafkaJs(retry: RetryOptions): void {
  Broker.prototype.metadata = tolerantMetadata
  Broker.prototype.createTopics = explainedCreateTopics
  Broker.prototype.addPartitionsToTxn = patientAddPartitionsToTxn
  Cluster.prototype.retry = retry
  Connection.prototype.connect = observedConnect
  Connection.prototype.send = observedSend
  RequestQueue.prototype.scheduleCheckPendingRequests = checkWhilePending
  RequestQueue.prototype.push = pushWithTimeoutCheck
  RequestQueue.prototype.scheduleRequestTimeoutCheck = () => undefined
  RequestQueue.prototype.destroy = stopChecking
}

/** Hears of the connections of a session and of the requests on them. The error is null where there was none. */
export interface ConnectionObserver {
  connected(error: unknown): void
  answered(apiKey: number, error: unknown): void
}

/** What each connection of a session has; kafkajs only calls it. */
export interface ObservedSocketFactory extends ISocketFactory {
  observer?: ConnectionObserver
}

async function observedConnect(this: Connection): Promise<boolean> {
  if (this.isConnected()) return true
  const { observer } = this.socketFactory
  try {
    const connected = await openConnection.call(this)
    observer?.connected(null)
    return connected
  } catch (error) {
    observer?.connected(error)
    throw error
  }
}

async function observedSend(this: Connection, sent: { request: { apiKey: number } }): Promise<unknown> {
  const { observer } = this.socketFactory
  try {
    const response = await sendOnConnection.call(this, sent)
    observer?.answered(sent.request.apiKey, null)
    return response
  } catch (error) {
    observer?.answered(sent.request.apiKey, error)
    throw error
  }
}

function pushWithTimeoutCheck(this: RequestQueue, request: unknown): void {
  push.call(this, request)
  checkTimeouts.call(this)
}

/** Schedules a check of timeouts, repeated while requests are in flight. */
function checkTimeouts(this: RequestQueue): void {
  this.cancelTimeoutCheck ??= systemClock.after(TIMEOUT_CHECK_MS, () => {
    this.cancelTimeoutCheck = null
    const nowMs = systemClock.now()
    for (const request of [...this.inflight.values()]) {
      if (nowMs - request.sentAt > request.requestTimeout) request.timeoutRequest()
    }
    if (this.inflight.size > 0) checkTimeouts.call(this)
  })
}

/** Ends the checks of a closed connection, except for requests still in flight. */
function stopChecking(this: RequestQueue): void {
  this.throttleCheckTimeoutId?.()
  this.throttleCheckTimeoutId = null
  if (this.inflight.size > 0) return
  this.cancelTimeoutCheck?.()
  this.cancelTimeoutCheck = null
}

function checkWhilePending(this: RequestQueue): void {
  if (this.throttleCheckTimeoutId || this.pending.length === 0) return
  const delayMs = Math.max(CHECK_MS, this.throttledUntil - systemClock.now())
  this.throttleCheckTimeoutId = systemClock.after(delayMs, () => {
    this.throttleCheckTimeoutId = null
    this.checkPendingRequests()
  })
}

/** Repeats kafkajs's own request while the markers of the producer's last transaction are being written. */
async function patientAddPartitionsToTxn(this: Broker, partitions: AddedPartitions): Promise<unknown> {
  for (let waitedMs = 0, pauseMs = MARKERS_PAUSE_MS; ; waitedMs += pauseMs) {
    try {
      return await addPartitionsToTxn.call(this, partitions)
    } catch (error) {
      const isEarly = error instanceof Error && 'type' in error && error.type === 'CONCURRENT_TRANSACTIONS'
      if (!isEarly || waitedMs > MARKERS_WAIT_MS) throw error
      await sleep(systemClock, pauseMs)
      pauseMs = Math.min(2 * pauseMs, LONGEST_MARKERS_PAUSE_MS)
    }
  }
}

/** A request with the functions that read its response. */
interface KafkaJsRequest<T> {
  request: unknown
  response: { decode(payload: Buffer): Promise<T>; parse(decoded: T): Promise<T> }
}

/** The parts of a metadata response that carry errors. */
export interface DecodedMetadata {
  topicMetadata: {
    topicErrorCode: number
    partitionMetadata: { partitionErrorCode: number; leader: number }[]
  }[]
}

/** As kafkajs's own, but in a response for all topics a topic with an error is no failure. */
async function tolerantMetadata(this: Broker, topics: string[] = []): Promise<DecodedMetadata> {
  const { allowAutoTopicCreation } = this
  const { request, response } = this.lookupRequest(
    METADATA,
    metadataRequests,
  )({ topics, allowAutoTopicCreation })
  const parse = (metadata: DecodedMetadata): Promise<DecodedMetadata> =>
    response.parse(topics.length === 0 ? withoutErrors(metadata) : metadata)
  return send(this, { request, response: { decode: response.decode, parse } })
}

/** Sends as kafkajs does. */
async function send<T>(broker: Broker, request: KafkaJsRequest<T>): Promise<T> {
  try {
    return await broker.connectionPool.send(request)
  } catch (error) {
    if (error instanceof Error && error.name === 'KafkaJSConnectionClosedError') await broker.disconnect()
    throw error
  }
}

/** A request for new topics, as kafkajs's admin client sends it. */
export interface AskedTopics {
  topics: unknown[]
  validateOnly?: boolean
  timeout?: number
}

/** The parts of a response to such a request that carry errors. */
export interface DecodedCreation {
  topicErrors: { topic: string; errorMessage?: string | null }[]
}

/** As kafkajs's own; each error says what the broker says of its topic. */
async function explainedCreateTopics(
  this: Broker,
  { topics, validateOnly = false, timeout = CREATION_TIMEOUT_MS }: AskedTopics,
): Promise<unknown> {
  const asked = { topics, validateOnly, timeout }
  const { request, response } = this.lookupRequest(CREATE_TOPICS, createTopicsRequests)(asked)
  const parse = async (created: DecodedCreation): Promise<DecodedCreation> => {
    try {
      return await response.parse(created)
    } catch (error) {
      const { errors = [] } = error as { errors?: { topic?: string; message: string }[] }
      for (const one of errors) {
        const said = created.topicErrors.find(({ topic }) => topic === one.topic)?.errorMessage
        if (said) one.message = said
      }
      throw error
    }
  }
  return send(this, { request, response: { decode: response.decode, parse } })
}

function withoutErrors(metadata: DecodedMetadata): DecodedMetadata {
  const topicMetadata = metadata.topicMetadata
    .filter(({ topicErrorCode }) => topicErrorCode === 0)
    .map((topic) => ({
      ...topic,
      partitionMetadata: topic.partitionMetadata.map((partition) =>
        partition.partitionErrorCode === 0 ? partition : { ...partition, partitionErrorCode: 0, leader: -1 },
      ),
    }))
  return { ...metadata, topicMetadata }
}
