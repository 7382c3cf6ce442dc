import { createSecretKey } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { seededChance } from '../../src/core/chance.ts'
import { deliveryHeaders } from '../../src/core/delivery-headers.ts'
import { secretText, webhookId } from '../../src/core/signature.ts'

const secrets = [Buffer.alloc(32, 1), Buffer.alloc(24, 2)]
const keys = secrets.map((bytes) => createSecretKey(bytes))
const body = Buffer.from('{"id":"urn:newsml:example:1"}')
const id = webhookId('ep_1', 'urn:newsml:example:1', Buffer.from('{}'))
const chance = seededChance(1)
const headersOf = (own: Record<string, string> = {}) =>
  deliveryHeaders({ webhookId: id, body, keys, own, nowMs: Date.now(), chance: () => chance.next() })

test('the official library verifies an attempt under each secret', () => {
  for (const key of secrets) {
    const webhook = new Webhook(secretText(key))
    expect(webhook.verify(body, headersOf())).toEqual({ id: 'urn:newsml:example:1' })
  }
})

test('an endpoint’s custom headers are sent, and override none of ours except User-Agent', () => {
  const ours = ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature', 'traceparent']
  const own = {
    Authorization: 'Bearer x',
    'User-Agent': 'mine',
    ...Object.fromEntries(ours.map((name) => [name.toUpperCase(), 'forged'])),
  }
  const headers = headersOf(own)
  expect(headers).toMatchObject({ authorization: 'Bearer x', 'user-agent': 'mine', 'webhook-id': id })
  expect(Object.values(headers)).not.toContain('forged')
  expect(Object.keys(headers).filter((name) => name !== name.toLowerCase())).toEqual([])
})

test('all attempts of a delivery share one trace, each with its own span', () => {
  const [one, other] = [headersOf(), headersOf()].map(({ traceparent = '' }) => traceparent.split('-'))
  expect(one?.[1]).toBe(id.slice('msg_'.length))
  expect(other?.[1]).toBe(one?.[1])
  expect(other?.[2]).not.toBe(one?.[2])
  expect(one?.join('-')).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
})

test('an attempt that is part of a recorded trace says so in place of the trace made from its id', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const signed = { webhookId: id, body, keys, own: {}, nowMs: 0, chance: () => chance.next() }
  expect(deliveryHeaders({ ...signed, traceparent }).traceparent).toBe(traceparent)
})
