/**
 * Signs short texts that travel in addresses and cookies: parts joined by dots, the signature last. Every node with the
 * same `BRIDGE_SECRET_KEY` can check them, and nothing is stored.
 */
import { createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto'
import { settingsCaller } from '../http/auth.ts'

/** `BRIDGE_SECRET_KEY`, which signs, and `BRIDGE_SECRET_KEY_OLD`, which is accepted too; null: there is none. */
export interface SigningKeys {
  key: string
  oldKey: string | null
}

/** Signs texts of one purpose. */
export type Signer = ReturnType<typeof createSigner>

const KEY_BYTES = 32

/** The signer of a purpose, whose key differs from that of every other purpose. */
function createSigner({ key, oldKey }: SigningKeys, purpose: string) {
  const present = derivedKey(key, purpose)
  const accepted = oldKey === null ? [present] : [present, derivedKey(oldKey, purpose)]
  return {
    /** The parts, of which none has a dot, with their signature. */
    sign(parts: readonly string[]): string {
      const text = parts.join('.')
      return `${text}.${signatureOf(text, present).toString('base64url')}`
    },
    /** The parts of a signed text; null unless one of the keys has signed it. */
    read(signed: string): string[] | null {
      const end = signed.lastIndexOf('.')
      const text = signed.slice(0, Math.max(0, end))
      const signature = Buffer.from(signed.slice(end + 1), 'base64url')
      const isSigned = accepted.some((one) => {
        const wanted = signatureOf(text, one)
        return signature.length === wanted.length && timingSafeEqual(signature, wanted)
      })
      return isSigned ? text.split('.') : null
    },
  }
}

/**
 * The signer of texts whose second part is the id of a token. Those of the token of the settings die when it is changed: the
 * key that signs them is bound to it.
 */
export function createTokenSigner(keys: SigningKeys, purpose: string, adminToken: string | null): Signer {
  const ofTokens = createSigner(keys, purpose)
  const ofSettings = createSigner(keys, `${purpose} of ${hash('sha256', adminToken ?? '')}`)
  const signerOf = (tokenId = '') => (tokenId === settingsCaller.tokenId ? ofSettings : ofTokens)
  return {
    sign: (parts) => signerOf(parts[1]).sign(parts),
    read: (signed) => signerOf(signed.split('.', 2)[1]).read(signed),
  }
}

function signatureOf(text: string, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function derivedKey(secret: string, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', purpose, KEY_BYTES))
}
