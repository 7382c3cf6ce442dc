import { createSecretKey, type KeyObject } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { secretText, signatures, signingKey, webhookId } from '../../src/core/signature.ts'
import { signatureVectors } from './signature-vectors.ts'

const bytes = fc.uint8Array({ minLength: 24, maxLength: 64 })

function keyOf(secret: string): KeyObject {
  const read = signingKey(secret)
  if (read === null) throw new Error(`${secret} is no secret`)
  return read
}

test.each(signatureVectors)('$webhookId is signed as another implementation signs it', (vector) => {
  const { timestampSeconds } = vector
  const id = webhookId(vector.endpointId, vector.eventId, Buffer.from(vector.data))
  expect(id).toBe(vector.webhookId)
  const body = Buffer.from(vector.body)
  expect(signatures({ id, timestampSeconds, body }, [keyOf(vector.secret)])).toBe(vector.signature)
})

test('the official library signs the same, and accepts either signature during a rotation', () => {
  const timestampSeconds = Math.floor(Date.now() / 1000)
  fc.assert(
    fc.property(
      bytes,
      bytes,
      fc.string({ unit: 'grapheme', minLength: 1 }),
      fc.string(),
      (old, fresh, text, event) => {
        const id = webhookId('ep_1', event, Buffer.from(text))
        const body = JSON.stringify({ text })
        const message = { id, timestampSeconds, body: Buffer.from(body) }
        const both = signatures(message, [createSecretKey(fresh), createSecretKey(old)])
        for (const key of [old, fresh]) {
          const official = new Webhook(secretText(key))
          expect(official.sign(id, new Date(timestampSeconds * 1000), body)).toBe(
            signatures(message, [createSecretKey(key)]),
          )
          const headers = {
            'webhook-id': id,
            'webhook-timestamp': String(timestampSeconds),
            'webhook-signature': both,
          }
          expect(official.verify(body, headers)).toEqual({ text })
          expect(() => official.verify(`${body} `, headers)).toThrow('No matching signature')
        }
      },
    ),
  )
})

test('an id has no dot and is equal only for the same endpoint, event and content', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (endpoint, event, text, other) => {
      const data = Buffer.from(text)
      const id = webhookId(endpoint, event, data)
      expect(id).toMatch(/^msg_[0-9a-f]{32}$/)
      expect(webhookId(endpoint, event, Buffer.from(text))).toBe(id)
      if (other !== event) expect(webhookId(endpoint, other, data)).not.toBe(id)
      if (!Buffer.from(other).equals(data)) {
        expect(webhookId(endpoint, event, Buffer.from(other))).not.toBe(id)
      }
    }),
  )
})

test('a secret parses back to what was written, and no other form is accepted', () => {
  fc.assert(
    fc.property(bytes, (key) => {
      const text = secretText(key)
      expect(text).toMatch(/^whsec_[A-Za-z0-9+/]+=*$/)
      expect(keyOf(text).export()).toEqual(Buffer.from(key))
      for (const spoilt of [
        text.slice(6),
        `${text} `,
        `${text}=`,
        text.replace('whsec_', 'whsk_'),
        `${text}!`,
      ]) {
        expect(signingKey(spoilt)).toBeNull()
      }
    }),
  )
  expect(() => secretText(new Uint8Array(23))).toThrow(RangeError)
  expect(() => secretText(new Uint8Array(65))).toThrow(RangeError)
  expect(signingKey(`whsec_${'A'.repeat(28)}`)).toBeNull()
  expect(signingKey('')).toBeNull()
})
