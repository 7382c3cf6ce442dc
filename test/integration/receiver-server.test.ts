/** Tests the receiver of docs/use/webhooks-receivers.md as a process, with requests signed by the official library. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CommandProcess, startCommand } from '../support/bridge-process.ts'
import { root } from '../support/house/repository.ts'
import { eventually } from '../support/http/api-client.ts'

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
const EVENT = {
  type: 'disclosure.published.v1',
  sequence: '00000000000000000001',
  subject: 'ACME',
  data: { headline: 'Ergebnis – 10 £' },
}
let receiver: CommandProcess
let url: string

beforeAll(async () => {
  const script = join(root, 'clients/receivers/node/receiver.ts')
  receiver = startCommand([], { WEBHOOK_SECRET: SECRET, PORT: '0' }, script)
  const line = await eventually(
    () => receiver.stderr(),
    (text) => text.includes('\n'),
  )
  url = `http://127.0.0.1:${/"port":(\d+)/.exec(line)?.[1]}/`
})

afterAll(() => receiver.stop())

test('the example receiver refuses to start without a secret', async () => {
  const without = startCommand([], {}, join(root, 'clients/receivers/node/receiver.ts'))
  expect(await without.ended).toBe(1)
  expect(without.stderr()).toContain('the webhook secret is missing or cut')
})

/** Posts a body under that id, signed now. */
async function post(id: string, body: string, secret = SECRET): Promise<number> {
  const now = new Date()
  const headers = {
    'content-type': 'application/cloudevents+json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, now, body),
  }
  const response = await fetch(url, { method: 'POST', headers, body })
  await response.body?.cancel()
  return response.status
}

test('the example receiver processes a genuine event once, acknowledges repeats, and refuses everything else', async () => {
  const body = JSON.stringify(EVENT)
  expect(await post('msg_1', body)).toBe(204)
  expect(await post('msg_1', body)).toBe(204)
  expect(await post('msg_2', body, `whsec_${Buffer.alloc(24, 8).toString('base64')}`)).toBe(401)
  expect((await fetch(url, { method: 'POST', body })).status).toBe(401)
  expect((await fetch(url)).status).toBe(401)
  // It closes the connection in the middle of the body; the client may see that first.
  const large = await post('msg_3', 'x'.repeat(3 * 1024 * 1024)).catch(() => 401)
  expect(large).toBe(401)
  const broken = connect(Number(new URL(url).port), '127.0.0.1')
  broken.end('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf')
  await once(broken.resume(), 'close')
  expect(await post('msg_4', body)).toBe(204)
  const line = '00000000000000000001 disclosure.published.v1 ACME Ergebnis – 10 £\n'
  await eventually(
    () => receiver.stdout(),
    (text) => text === line.repeat(2),
  )
})

test('the example receiver processes each event of arrays once, in order, also where it comes again in another array', async () => {
  const events = ['a', 'b', 'c'].map((id) => ({ ...EVENT, id, subject: id }))
  expect(await post('msg_5', JSON.stringify(events.slice(0, 2)))).toBe(204)
  expect(await post('msg_6', JSON.stringify(events.slice(1)))).toBe(204)
  expect(await post('msg_7', JSON.stringify([{ ...events[0], data: {} }]))).toBe(204)
  await eventually(
    () => receiver.stdout().match(/(?<=published.v1 )[abc]/g) ?? [],
    (subjects) => subjects.join('') === 'abca',
  )
})
