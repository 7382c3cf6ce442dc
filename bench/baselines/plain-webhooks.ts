/**
 * Delivers webhooks as a team would write it in a day: the baseline of `npm run bench -- webhooks`. It follows the
 * stream of a bridge and posts each event with fetch to all endpoints at once, with three attempts in memory. To be
 * fair, it signs, keeps connections alive and reads responses to their end. It stores nothing: a crash loses whatever
 * is in flight. Settings: BRIDGE_URL, BRIDGE_TOKEN, ENDPOINTS (a file with a URL a line).
 */
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { openEventStream } from '../support/event-stream.ts'

const TRIES = 3
const PAUSE_MS = 5_000
const LONGEST_MS = 15_000
const KEY = Buffer.alloc(32, 7)

const { BRIDGE_URL = '', BRIDGE_TOKEN = '', ENDPOINTS = '' } = process.env
const endpoints = readFileSync(ENDPOINTS, 'utf8').trim().split('\n')

async function deliver(url: string, id: string, body: string): Promise<void> {
  for (let tries = 1; tries <= TRIES; tries++) {
    const timestamp = Math.floor(systemClock.now() / 1000)
    const signature = createHmac('sha256', KEY).update(`${id}.${timestamp}.${body}`).digest('base64')
    try {
      const answer = await fetch(url, {
        method: 'POST',
        body,
        headers: {
          'content-type': 'application/cloudevents+json',
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': `v1,${signature}`,
        },
        signal: AbortSignal.timeout(LONGEST_MS),
      })
      await answer.arrayBuffer()
      if (answer.ok) return
    } catch {
      // Unavailable or too slow: retried like an error status.
    }
    await wait(PAUSE_MS)
  }
}

const stream = await openEventStream({ url: BRIDGE_URL, token: BRIDGE_TOKEN }, null)
process.stdout.write('ready\n')
for await (const { events } of stream) {
  for (const { id, body } of events)
    await Promise.all(endpoints.map((url, place) => deliver(url, `msg_${place}_${id}`, body)))
}
