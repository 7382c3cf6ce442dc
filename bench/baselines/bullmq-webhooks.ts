/**
 * Delivers webhooks by BullMQ on Redis, as a team that knows both would build it: the second baseline of `npm run
 * bench -- webhooks`. It follows the stream of a bridge, stores each event once in Redis, adds a job for each
 * endpoint, and runs the jobs with undici. To be fair, jobs have references instead of bodies, ids, headers, attempts
 * and delays are the product's, connections are kept alive, and a crash loses nothing: it continues after the last
 * event whose jobs are in Redis. It ends with the stream and is then started again. Settings: BRIDGE_URL,
 * BRIDGE_TOKEN, REDIS_PORT, ENDPOINTS (a file with a URL a line).
 */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Job, Queue, UnrecoverableError, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { Agent, request } from 'undici'
import { deliveryHeaders } from '../../src/core/delivery-headers.ts'
import { dataBytes } from '../../src/core/event.ts'
import { webhookId } from '../../src/core/signature.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { MOST_TRIES, retryDelayMs } from '../../src/webhooks/delivery-state/outcome.ts'
import { openEventStream } from '../support/event-stream.ts'

/** Of a job: which event goes to which endpoint. */
interface Delivery {
  place: number
  event: string
}

interface Endpoint {
  id: string
  url: string
  key: KeyObject
}

const QUEUE = 'webhooks'
/** Deliveries under way at a time, over all endpoints. */
const CONCURRENCY = 200
/** Of an attempt. */
const LONGEST_MS = 15_000
/** Bodies kept in memory; others are read from Redis. */
const BODIES = 2_000
/** A body outlives the last try, which comes after 40 hours. */
const BODY_SECONDS = 48 * 3_600
/** Where in Redis it is kept how far the stream has been followed. */
const CURSOR = 'cursor'
/** The delay that makes BullMQ treat a job as failed for good. */
const NO_FURTHER_TRY = -1

const { BRIDGE_URL = '', BRIDGE_TOKEN = '', REDIS_PORT = '', ENDPOINTS = '' } = process.env
const connection = { host: '127.0.0.1', port: Number(REDIS_PORT), maxRetriesPerRequest: null }
const redis = new Redis(connection)
const agent = new Agent({ pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
const bodies = new Map<string, Buffer>()
const endpoints: Endpoint[] = readFileSync(ENDPOINTS, 'utf8')
  .trim()
  .split('\n')
  .map((url, place) => ({ id: `ep_${place}`, url, key: createSecretKey(Buffer.alloc(32, place)) }))

const bodyKey = (event: string): string => `body:${event}`

function remember(event: string, body: Buffer): void {
  bodies.set(event, body)
  for (const oldest of bodies.keys()) {
    if (bodies.size <= BODIES) return
    bodies.delete(oldest)
  }
}

async function bodyOf(event: string): Promise<Buffer> {
  const body = bodies.get(event) ?? (await redis.getBuffer(bodyKey(event)))
  if (body === null) throw new UnrecoverableError(`the body of ${event} is gone`)
  if (!bodies.has(event)) remember(event, body)
  return body
}

async function deliver({ data: { place, event } }: Job<Delivery>): Promise<void> {
  const endpoint = endpoints[place]
  if (endpoint === undefined) throw new UnrecoverableError(`there is no endpoint ${place}`)
  const body = await bodyOf(event)
  const answer = await request(endpoint.url, {
    dispatcher: agent,
    method: 'POST',
    body,
    headers: deliveryHeaders({
      webhookId: webhookId(endpoint.id, event, dataBytes(body)),
      body,
      keys: [endpoint.key],
      own: {},
      nowMs: systemClock.now(),
      chance: Math.random,
    }),
    signal: AbortSignal.timeout(LONGEST_MS),
  })
  await answer.body.dump()
  if (answer.statusCode === 410) throw new UnrecoverableError('410')
  if (answer.statusCode < 200 || answer.statusCode > 299) throw new Error(String(answer.statusCode))
}

const queue = new Queue<Delivery>(QUEUE, {
  connection,
  defaultJobOptions: {
    attempts: MOST_TRIES,
    backoff: { type: 'custom' },
    removeOnComplete: true,
    // What has failed for good stays, to be looked at and sent again.
    removeOnFail: false,
  },
})
const worker = new Worker<Delivery>(QUEUE, deliver, {
  connection,
  concurrency: CONCURRENCY,
  settings: { backoffStrategy: (tries) => retryDelayMs(tries, Math.random()) ?? NO_FURTHER_TRY },
})
worker.on('error', (error) => process.stderr.write(`${error.stack}\n`))

/** When this resolves, Redis has the event and its jobs. Jobs that are there already are not added again. */
async function enqueue(event: string, text: string): Promise<void> {
  const body = Buffer.from(text)
  const data = dataBytes(body)
  remember(event, body)
  await redis.set(bodyKey(event), body, 'EX', BODY_SECONDS)
  await queue.addBulk(
    endpoints.map(({ id }, place) => ({
      name: 'deliver',
      data: { place, event },
      opts: { jobId: webhookId(id, event, data) },
    })),
  )
}

await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
const cursor = await redis.get(CURSOR)
const stream = await openEventStream({ url: BRIDGE_URL, token: BRIDGE_TOKEN }, cursor)
process.stdout.write('ready\n')
for await (const piece of stream) {
  for (const { id, body } of piece.events) await enqueue(id, body)
  await redis.set(CURSOR, piece.cursor)
}
throw new Error('the stream has ended')
