/**
 * Repairs on the prototypes of kafkajs 2.2.4, each a function in the place of one of its own. Owns what is replaced and
 * why. Refuses to be more than that: settings are in `client.ts`.
 */
import type { RetryOptions } from 'kafkajs'
import Broker from 'kafkajs/src/broker/index.js'
import Cluster from 'kafkajs/src/cluster/index.js'
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import metadataRequests from 'kafkajs/src/protocol/requests/metadata/index.js'
import { sleep, systemClock } from '../../lifecycle/clock.ts'
import type { AddedPartitions } from './kafkajs-internals.ts'

/** Smallest pause between two looks at requests that wait for their turn, ms; kafkajs's own figure. */
const CHECK_MS = 10
/** Between two looks at the requests on their way, ms: a request is given up at most this long after its time. */
const LATE_LOOK_MS = 1_000
/** The number of the question for metadata. */
const METADATA = 3
/** First pause for markers, ms: they usually take less. The pauses double. */
const MARKERS_PAUSE_MS = 5
const LONGEST_MARKERS_PAUSE_MS = 100
/** Below the 8 s after which a transaction is given up. */
const MARKERS_WAIT_MS = 5_000

const { addPartitionsToTxn } = Broker.prototype
const { push } = RequestQueue.prototype

/**
 * Repairs faults of kafkajs, for every client of this process; may be called again.
 * - The transaction manager takes its retry figures from `cluster.retry`, which nobody sets, so that a takeover waits
 *   255–360 ms for one answer of CONCURRENT_TRANSACTIONS (measured; 14–20 ms with this).
 * - The request queue re-arms a timer each millisecond while nothing is pending (2.2–2.8 % of a core; 0.1–0.4 % with
 *   this).
 * - Each connection is looked at ten times a second for requests without an answer, though the shortest limit is seconds;
 *   a process that only stands by has six of them (a third of what it took, measured; once a second with this). Nobody
 *   looks any more once a connection has ended, though a request may have been given to it in that moment, or to the one
 *   that came in its place: it waits for ever. Here whoever is on the way is looked after until it has an answer.
 * - Who asks for every topic of the cluster (a new transactional producer does, and the making of topics) gets an error
 *   while any of them, be it somebody else's, has no leader. Here such a partition is led by −1 as Kafka says it.
 * - Who sends to several brokers begins again when the first of them fails, while what goes to the others is still on its
 *   way: they get it twice, inside one transaction. The transactions of this program are sent once, without kafkajs's
 *   retry; what that was needed for, the usual wait for the markers of the transaction before, is waited for here.
 */
export function repairKafkaJs(retry: RetryOptions): void {
  Broker.prototype.metadata = tolerantMetadata
  Broker.prototype.addPartitionsToTxn = patientAddPartitionsToTxn
  Cluster.prototype.retry = retry
  RequestQueue.prototype.scheduleCheckPendingRequests = checkWhilePending
  RequestQueue.prototype.push = pushAndLook
  RequestQueue.prototype.scheduleRequestTimeoutCheck = () => undefined
  RequestQueue.prototype.destroy = stopChecking
}

function pushAndLook(this: RequestQueue, request: unknown): void {
  push.call(this, request)
  lookForLateRequests.call(this)
}

/** Looks once, and again as long as a request is on its way. */
function lookForLateRequests(this: RequestQueue): void {
  this.cancelLateLook ??= systemClock.after(LATE_LOOK_MS, () => {
    this.cancelLateLook = null
    const nowMs = systemClock.now()
    for (const request of [...this.inflight.values()]) {
      if (nowMs - request.sentAt > request.requestTimeout) request.timeoutRequest()
    }
    if (this.inflight.size > 0) lookForLateRequests.call(this)
  })
}

/** The connection has ended. */
function stopChecking(this: RequestQueue): void {
  this.throttleCheckTimeoutId?.()
  this.throttleCheckTimeoutId = null
  if (this.inflight.size > 0) return
  this.cancelLateLook?.()
  this.cancelLateLook = null
}

function checkWhilePending(this: RequestQueue): void {
  if (this.throttleCheckTimeoutId || this.pending.length === 0) return
  const delayMs = Math.max(CHECK_MS, this.throttledUntil - systemClock.now())
  this.throttleCheckTimeoutId = systemClock.after(delayMs, () => {
    this.throttleCheckTimeoutId = null
    this.checkPendingRequests()
  })
}

/** kafkajs's own request, again while the markers of the producer's last transaction are being written: it changes nothing. */
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

/** The answer to a question for metadata, as far as faults are in it. */
export interface DecodedMetadata {
  topicMetadata: {
    topicErrorCode: number
    partitionMetadata: { partitionErrorCode: number; leader: number }[]
  }[]
}

/** kafkajs's own question; of the answer for topics that nobody named, faults are no error. */
async function tolerantMetadata(this: Broker, topics: string[] = []): Promise<DecodedMetadata> {
  const { allowAutoTopicCreation } = this
  const { request, response } = this.lookupRequest(
    METADATA,
    metadataRequests,
  )({ topics, allowAutoTopicCreation })
  const parse = (answer: DecodedMetadata): Promise<DecodedMetadata> =>
    response.parse(topics.length === 0 ? withoutFaults(answer) : answer)
  try {
    return await this.connectionPool.send({ request, response: { decode: response.decode, parse } })
  } catch (error) {
    if (error instanceof Error && error.name === 'KafkaJSConnectionClosedError') await this.disconnect()
    throw error
  }
}

function withoutFaults(answer: DecodedMetadata): DecodedMetadata {
  const topicMetadata = answer.topicMetadata
    .filter(({ topicErrorCode }) => topicErrorCode === 0)
    .map((topic) => ({
      ...topic,
      partitionMetadata: topic.partitionMetadata.map((partition) =>
        partition.partitionErrorCode === 0 ? partition : { ...partition, partitionErrorCode: 0, leader: -1 },
      ),
    }))
  return { ...answer, topicMetadata }
}
