import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BridgeError } from '../../../src/errors.ts'
import { createSecretBox, type SecretBox } from '../../../src/webhooks/endpoints/secrets.ts'

const KEY = 'the present key, of thirty-two or more'
const OLD = 'the key before, of thirty-two or more.'
const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX'
const box = createSecretBox({ key: KEY, oldKey: null })
const before = createSecretBox({ key: OLD, oldKey: null })
const both = createSecretBox({ key: KEY, oldKey: OLD })

function refusal(opener: SecretBox, wrapped: string, endpointId: string): BridgeError | null {
  try {
    opener.unwrap(wrapped, endpointId)
    return null
  } catch (error) {
    if (error instanceof BridgeError) return error
    throw error
  }
}

test('a secret decrypts unchanged for its endpoint, and never has the same ciphertext twice', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (secret, endpoint) => {
      const wrapped = box.wrap(secret, endpoint)
      expect(box.unwrap(wrapped, endpoint)).toBe(secret)
      expect(box.wrap(secret, endpoint)).not.toBe(wrapped)
      expect(wrapped).toMatch(/^w1\.[0-9a-f]{12}\.[\w-]{16}\.[\w-]+$/)
    }),
  )
})

test('every bridge with the same key decrypts it: other nodes, and the process after a restart', () => {
  expect(createSecretBox({ key: KEY, oldKey: OLD }).unwrap(box.wrap(SECRET, 'ep_1'), 'ep_1')).toBe(SECRET)
})

test('a secret under the previous key is readable, and re-encrypted once', () => {
  const wrapped = before.wrap(SECRET, 'ep_1')
  expect(both.unwrap(wrapped, 'ep_1')).toBe(SECRET)
  const fresh = both.rewrap(wrapped, 'ep_1')
  expect(box.unwrap(fresh ?? '', 'ep_1')).toBe(SECRET)
  expect(both.rewrap(fresh ?? '', 'ep_1')).toBeNull()
})

test('the error for a wrong key names the remedy, and shows neither the secret nor a key', () => {
  const error = refusal(box, before.wrap(SECRET, 'ep_1'), 'ep_1')
  expect(error).toMatchObject({ code: 'secret_unreadable' })
  expect(error?.hint).toContain('BRIDGE_SECRET_KEY_OLD')
  for (const planted of [KEY, OLD, SECRET])
    expect(JSON.stringify([error?.message, error])).not.toContain(planted)
})

test('changing any character, or using another endpoint, makes decryption fail', () => {
  const wrapped = box.wrap(SECRET, 'ep_1')
  expect(refusal(box, wrapped, 'ep_2')?.code).toBe('secret_unreadable')
  for (let at = 0; at < wrapped.length; at++) {
    const other = wrapped[at] === 'A' ? 'B' : 'A'
    const spoilt = `${wrapped.slice(0, at)}${other}${wrapped.slice(at + 1)}`
    expect(refusal(box, spoilt, 'ep_1')?.code, `character ${at}`).toBe('secret_unreadable')
  }
})

test('a text that is no ciphertext is refused without a crash', () => {
  for (const text of [
    '',
    'w1',
    'w1...',
    '....',
    SECRET,
    'w2.a.b.c',
    `${box.wrap(SECRET, 'ep_1')}.x`,
    'w1.a.b.\u0000',
  ]) {
    expect(refusal(box, text, 'ep_1')?.code, text).toBe('secret_unreadable')
  }
  fc.assert(fc.property(fc.string(), (text) => refusal(box, text, 'ep_1')?.code === 'secret_unreadable'))
})
