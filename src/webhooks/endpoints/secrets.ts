/**
 * Encrypts endpoint secrets for the log with AES-256-GCM, under a key derived from `BRIDGE_SECRET_KEY`. Each ciphertext is
 * bound to its endpoint and has the id of its key, so that the key can be changed.
 */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { BridgeError } from '../../errors.ts'

/** Encrypts with the current key; decrypts with it and with the old one. */
export type SecretBox = ReturnType<typeof createSecretBox>

interface WrappingKey {
  /** Identifies the key and reveals nothing about it. */
  id: string
  /** Created once: from bytes, every cipher would create it again (28 µs of 33). */
  key: KeyObject
}

const CIPHER = 'aes-256-gcm'
const FORM = 'w1'
const KEY_BYTES = 32
const KEY_ID_BYTES = 6
const IV_BYTES = 12
const TAG_BYTES = 16
const PURPOSE = 'disclosure-bridge webhook secrets 1'

/** Creates a box with the keys of the settings; `oldKey` is null if there is none. */
export function createSecretBox({ key, oldKey }: { key: string; oldKey: string | null }) {
  const present = wrappingKey(key)
  const keys = oldKey === null ? [present] : [present, wrappingKey(oldKey)]
  /**
   * Decrypts a secret.
   * @throws BridgeError `secret_unreadable` where the key is neither the current nor the old one, or the text was changed
   * or belongs to another endpoint
   */
  const unwrap = (wrapped: string, endpointId: string): string => {
    const { keyId, iv, sealed } = partsOf(wrapped)
    const fitting = keys.find(({ id }) => id === keyId)
    if (fitting === undefined) {
      throw new BridgeError(
        'secret_unreadable',
        `no key of this bridge decrypts what is stored for endpoint ${endpointId}`,
        {
          hint: 'Set BRIDGE_SECRET_KEY_OLD to the previous key, or BRIDGE_SECRET_KEY to the key of the other nodes; else rotate the secret of the endpoint, and set its headers again.',
        },
      )
    }
    return open(fitting, iv, sealed, endpointId)
  }
  /** Encrypts a secret for the endpoint. The result differs each time. */
  const wrap = (secret: string, endpointId: string): string => seal(present, secret, endpointId)
  return {
    wrap,
    unwrap,
    /** Re-encrypts a secret under the current key; null where it already is. Throws as `unwrap`. */
    rewrap(wrapped: string, endpointId: string): string | null {
      const secret = unwrap(wrapped, endpointId)
      return partsOf(wrapped).keyId === present.id ? null : wrap(secret, endpointId)
    },
  }
}

function wrappingKey(text: string): WrappingKey {
  const derived = (info: string, bytes: number): Uint8Array =>
    new Uint8Array(hkdfSync('sha256', text, '', `${PURPOSE} ${info}`, bytes))
  return {
    id: Buffer.from(derived('id', KEY_ID_BYTES)).toString('hex'),
    key: createSecretKey(derived('key', KEY_BYTES)),
  }
}

function seal({ id, key }: WrappingKey, secret: string, endpointId: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES }).setAAD(boundTo(id, endpointId))
  const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return [FORM, id, iv.toString('base64url'), sealed.toString('base64url')].join('.')
}

function open({ id, key }: WrappingKey, iv: Buffer, sealed: Buffer, endpointId: string): string {
  const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES })
  decipher.setAAD(boundTo(id, endpointId)).setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    throw damaged(`what is stored for ${endpointId} was changed, or belongs to another endpoint`)
  }
}

/** The additional authenticated data: a ciphertext copied to another endpoint cannot be decrypted. */
function boundTo(keyId: string, endpointId: string): Buffer {
  return Buffer.from(`${FORM}\n${keyId}\n${endpointId}`)
}

function partsOf(wrapped: string): { keyId: string; iv: Buffer; sealed: Buffer } {
  const [form, keyId = '', ivText = '', sealedText = '', ...more] = wrapped.split('.')
  const iv = bytesOf(ivText)
  const sealed = bytesOf(sealedText)
  if (form !== FORM || more.length > 0 || iv?.length !== IV_BYTES || (sealed?.length ?? 0) < TAG_BYTES) {
    throw damaged('a wrapped secret has a form that this version does not know')
  }
  return { keyId, iv, sealed: sealed ?? Buffer.alloc(0) }
}

/** Decodes canonical base64url; null for any other text. */
function bytesOf(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : null
}

function damaged(message: string): BridgeError {
  return new BridgeError('secret_unreadable', message, {
    hint: 'Rotate the secret of the endpoint, and check which programs write to the tables of the log.',
  })
}
