import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newSecret, secretBytes } from '../../../src/core/signature.ts'
import type { EndpointSecret } from '../../../src/registry/endpoint-rows.ts'
import {
  MOST_SECRETS,
  OLD_SECRET_MS,
  rewrapped,
  rotated,
} from '../../../src/webhooks/endpoints/endpoint-secrets.ts'
import { createSecretBox } from '../../../src/webhooks/endpoints/secrets.ts'

test('a new secret has 32 random bytes in the form of Standard Webhooks', () => {
  const texts = Array.from({ length: 50 }, newSecret)
  expect(new Set(texts).size).toBe(50)
  for (const text of texts) expect(secretBytes(text)).toHaveLength(32)
})

test('each secret signs until a day after its rotation, at most four sign at once', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2 * OLD_SECRET_MS }), { maxLength: 12 }), (waits) => {
      let nowMs = 0
      let secrets: EndpointSecret[] = [{ wrapped: 's0', untilMs: null }]
      const naive = [{ wrapped: 's0', replacedMs: Number.POSITIVE_INFINITY }]
      for (const [index, waitMs] of waits.entries()) {
        nowMs += waitMs
        secrets = rotated(secrets, `s${index + 1}`, nowMs)
        for (const entry of naive) entry.replacedMs = Math.min(entry.replacedMs, nowMs)
        naive.unshift({ wrapped: `s${index + 1}`, replacedMs: Number.POSITIVE_INFINITY })
        const signing = naive.filter(({ replacedMs }) => replacedMs + OLD_SECRET_MS > nowMs)
        expect(secrets.map(({ wrapped }) => wrapped)).toEqual(
          signing.slice(0, MOST_SECRETS).map(({ wrapped }) => wrapped),
        )
      }
    }),
  )
})

test('re-encrypting keeps order and expiry of signing secrets, and drops expired ones, readable or not', () => {
  const old = createSecretBox({ key: 'the key before, of thirty-two or more', oldKey: null })
  const both = createSecretBox({
    key: 'the present key, thirty-two or more.',
    oldKey: 'the key before, of thirty-two or more',
  })
  const secrets = [
    { wrapped: both.wrap('new', 'ep_1'), untilMs: null },
    { wrapped: old.wrap('old', 'ep_1'), untilMs: 100 },
    { wrapped: 'rubbish', untilMs: 50 },
  ]
  const fresh = rewrapped({ id: 'ep_1', secrets }, both, 50) ?? []
  expect(fresh.map(({ untilMs }) => untilMs)).toEqual([null, 100])
  expect(fresh.map(({ wrapped }) => both.unwrap(wrapped, 'ep_1'))).toEqual(['new', 'old'])
  expect(fresh[0]).toEqual(secrets[0])
  expect(rewrapped({ id: 'ep_1', secrets: fresh }, both, 50)).toBeNull()
})
