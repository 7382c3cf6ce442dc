/**
 * Receives the webhooks of `npm run bench -- webhooks` in its own process and counts arrivals, duplicates and delays,
 * as cheaply as possible. The first part of a path chooses its response: `ok` at once, `fail` with 500, `hang` never,
 * `drip` a byte each second; `retry` at once, with the delay counted from when the retry was due. The parent requests
 * the counts with `report`, which starts a new count.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { quantile } from '../figures.ts'
import { retryDueMs } from './retry-schedule.ts'

/** What came to `ok` since the last report, times in ms; since 1970 where they are moments. */
export interface SinkReport {
  /** Each event once for each path. */
  received: number
  /** What came again. */
  repeats: number
  /** Of the event that was held first. */
  firstHeldMs: number
  lastMs: number
  /** Of each endpoint, the event that came first. */
  firsts: { sequence: number; heldMs: number; receivedMs: number }[]
  /** Of the endpoint that waited longest for that: from when the event was held. */
  slowestFirstMs: number
  /** From held to received, of each delivery; the median, the p99 and the most. */
  p50: number
  p99: number
  most: number
}

/** Sequence and time of each event of a body: one, or those of a batch. */
const EVENTS = /"sequence":"0*([1-9]\d*)".*?"recordedtime":"([^"]+)"/g
const DRIP_MS = 1000

let delays: number[] = []
let repeats = 0
/** By path, the sequences that came. */
let seen = new Map<string, Set<number>>()
let firsts = new Map<string, SinkReport['firsts'][number]>()
let firstHeldMs = Number.POSITIVE_INFINITY
let lastMs = 0

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => answer(request.url ?? '', Buffer.concat(chunks).toString('latin1'), response))
})

function answer(path: string, body: string, response: ServerResponse): void {
  const [, manner] = path.split('/')
  if (manner === 'hang') return
  if (manner === 'drip') return drip(response)
  response.statusCode = manner === 'fail' ? 500 : 204
  response.end()
  const [, , place, firstMs] = path.split('/')
  for (const [, digits, held = ''] of body.matchAll(EVENTS)) {
    const sequence = Number(digits)
    if (manner === 'ok') count(path, sequence, Date.parse(held))
    if (manner === 'retry') count(path, sequence, retryDueMs(Number(place), sequence, Number(firstMs)))
  }
}

function count(path: string, sequence: number, heldMs: number): void {
  const known = seen.get(path) ?? new Set<number>()
  if (known.has(sequence)) {
    repeats += 1
    return
  }
  seen.set(path, known.add(sequence))
  lastMs = systemClock.now()
  delays.push(lastMs - heldMs)
  firstHeldMs = Math.min(firstHeldMs, heldMs)
  if (!firsts.has(path)) firsts.set(path, { sequence, heldMs, receivedMs: lastMs })
}

function drip(response: ServerResponse): void {
  response.writeHead(200)
  const timer = setInterval(() => response.write('.'), DRIP_MS)
  response.on('close', () => clearInterval(timer))
}

function report(): SinkReport {
  const received = delays.length
  const shares = received === 0 ? [0, 0, 0] : [0.5, 0.99, 1].map((share) => quantile(delays, share))
  const [p50 = 0, p99 = 0, most = 0] = shares
  const first = [...firsts.values()]
  const slowestFirstMs = Math.max(0, ...first.map(({ heldMs, receivedMs }) => receivedMs - heldMs))
  const said = { received, repeats, firstHeldMs, lastMs, firsts: first, slowestFirstMs, p50, p99, most }
  delays = []
  repeats = 0
  seen = new Map()
  firsts = new Map()
  firstHeldMs = Number.POSITIVE_INFINITY
  return said
}

process.on('message', (word) => {
  if (word === 'count') process.send?.({ received: delays.length })
  if (word === 'report') process.send?.(report())
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
