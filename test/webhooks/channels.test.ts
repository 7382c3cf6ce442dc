/** Compares deliveries as a receiver gets them with the AsyncAPI document. */
import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { type Committed, encodeAttributes, gapEvent, gapTypes, joinEvent } from '../../src/core/event.ts'
import { gapOf } from '../../src/ingest/machine/publish.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { addressRules } from '../../src/webhooks/address/rules.ts'
import { postEvent } from '../../src/webhooks/send/delivery.ts'
import { sampleEvent, sampleKinds } from '../../src/webhooks/send/sample-event.ts'
import { createSender } from '../../src/webhooks/send/sender.ts'
import { disabledEvent, testEvent, troubleEvent } from '../../src/webhooks/send/system-event.ts'
import { START_MS, sampleGap } from '../log/samples.ts'
import { namesOf, productDocument } from '../support/house/asyncapi-document.ts'
import { messageJudge } from '../support/house/asyncapi-messages.ts'
import { EPOCH, eventAt } from '../support/store.ts'
import { startReceiver, TRANSPORT_HEADERS } from '../support/webhooks/webhook-receiver.ts'
import { endpointOf } from '../support/webhooks/webhook-world.ts'

const EXHAUSTED = { kind: 'exhausted', count: 2, firstMs: 0, lastMs: START_MS } as const
const document = productDocument()
const misfits = messageJudge(document)

/** Every delivered body, with the document's name of the message. */
function bodies(): { name: string; id: string; json: string }[] {
  const committed: Committed[] = [
    { ...eventAt(1), late: true, replacesid: 'urn:newsml:example:0' },
    ...gapTypes.map((type, at) => ({
      ...gapEvent(gapOf(sampleGap('g')), type, { timeMs: START_MS, recordedMs: START_MS }),
      sequence: at + 2,
      epoch: EPOCH,
    })),
  ]
  const own = { id: 'ep_1', description: null }
  const inBatch = committed.map((event) => ({
    ...{ name: 'batch', id: event.id },
    json: joinEvent(encodeAttributes(event), event.data),
  }))
  return [
    ...inBatch,
    { name: 'batch', ...disabledEvent(own, 'failing', START_MS) },
    { name: 'batch', ...testEvent('evt_1', 'ep_1', START_MS) },
    ...committed.map((event, at) => ({
      name: at === 0 ? 'disclosure' : 'gap',
      id: event.id,
      json: joinEvent(encodeAttributes(event), event.data),
    })),
    { name: 'webhook.disabled', ...disabledEvent(own, 'failing', START_MS) },
    { name: 'webhook.disabled', ...disabledEvent({ ...own, description: 'the desk' }, 'gone', START_MS) },
    { name: 'webhook.exhausted', ...troubleEvent(own, EXHAUSTED) },
    { name: 'webhook.recovered', ...troubleEvent(own, { kind: 'recovered', sinceMs: 0, atMs: START_MS }) },
    { name: 'batch', ...troubleEvent(own, EXHAUSTED) },
    { name: 'webhook.test', ...testEvent('evt_1', 'ep_1', START_MS) },
    ...sampleKinds.map((kind) => ({
      name: kind === 'gap' ? 'gap' : 'disclosure',
      ...sampleEvent(kind, 'test_1', START_MS),
    })),
  ]
}

test('every delivery matches the AsyncAPI document, under one secret and two, and every documented message is sent', async () => {
  await using receiver = await startReceiver()
  const rules = addressRules({ allowNets: ['127.0.0.0/8'], allowHttp: true, ports: [443] })
  const sender = createSender({ rules, proxyUrl: null, clock: systemClock, mostConnections: 100 })
  onTestFinished(sender.close)
  const secrets = [1, 2].map(() => createSecretKey(randomBytes(32)))
  const sent = bodies()
  for (const [at, { name, id, json }] of sent.entries()) {
    const keys = secrets.slice(at % 2)
    const maxBatch = name === 'batch' ? 2 : null
    const endpoint = { ...endpointOf('ep_1'), url: receiver.url, headers: {}, maxBatch, keys }
    const means = { attempt: sender.attempt, clock: systemClock, chance: () => 0.5 }
    const post = { eventId: id, body: Buffer.from(json) }
    const limits = { signal: new AbortController().signal, mayLeave: () => true }
    await postEvent(endpoint, post, means, limits)
  }
  expect(receiver.received).toHaveLength(sent.length)
  for (const [at, { headers, body }] of receiver.received.entries()) {
    const own = Object.entries(headers).filter(([name]) => !TRANSPORT_HEADERS.includes(name))
    const given = { headers: Object.fromEntries(own), payload: JSON.parse(body) }
    const name = sent[at]?.name ?? ''
    expect([name, misfits('webhooks', name, given)]).toEqual([name, []])
  }
  const names = new Set(sent.map(({ name }) => name))
  expect([...names].sort()).toEqual(namesOf(document, 'webhooks', 'send').sort())
})
