/**
 * Creates keys and certificates of test servers in the process, with any names and dates. The command line of OpenSSL
 * 3.0 refuses to create an expired one. Covers as much of X.509 (RFC 5280) as TLS requires.
 */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { DAY_MS } from '../../src/core/durations.ts'

/** A private key and its certificate, PEM. */
export interface TestCertificate {
  key: string
  cert: string
}

/** Signs certificates; `ca` is what the other side must trust. */
export interface TestAuthority {
  ca: string
  issue(names: readonly string[], validity?: { fromMs: number; toMs: number }): TestCertificate
}

const ECDSA_SHA256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]
const COMMON_NAME = [0x55, 0x04, 0x03]
const ALTERNATIVE_NAMES = [0x55, 0x1d, 0x11]
const BASIC_CONSTRAINTS = [0x55, 0x1d, 0x13]

/** One element of DER: tag, length, content. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts)
const oid = (bytes: readonly number[]): Buffer => der(0x06, Buffer.from(bytes))
const bits = (bytes: Uint8Array): Buffer => der(0x03, Buffer.from([0]), bytes)
const nameOf = (text: string): Buffer =>
  sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from(text)))))
const time = (ms: number): Buffer =>
  der(0x18, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`))

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n')
}

interface Contents {
  issuer: string
  subject: string
  publicKey: KeyObject
  names: readonly string[]
  isAuthority: boolean
  fromMs: number
  toMs: number
}

function certificate(contents: Contents, signer: KeyObject): string {
  const { issuer, subject, publicKey, names, isAuthority, fromMs, toMs } = contents
  const constraints = sequence(
    oid(BASIC_CONSTRAINTS),
    der(0x01, Buffer.from([0xff])),
    der(0x04, isAuthority ? sequence(der(0x01, Buffer.from([0xff]))) : sequence()),
  )
  const alternatives = sequence(...names.map((name) => der(0x82, Buffer.from(name))))
  const extensions =
    names.length === 0
      ? [constraints]
      : [constraints, sequence(oid(ALTERNATIVE_NAMES), der(0x04, alternatives))]
  const algorithm = sequence(oid(ECDSA_SHA256))
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    nameOf(issuer),
    sequence(time(fromMs), time(toMs)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  return pem('CERTIFICATE', sequence(body, algorithm, bits(sign('sha256', body, signer))))
}

/** A new authority, trusted by nobody who is not given its certificate. */
export function createTestAuthority(name = 'test authority'): TestAuthority {
  const nowMs = Date.now()
  const usual = { fromMs: nowMs - DAY_MS, toMs: nowMs + DAY_MS }
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const authority = { issuer: name, subject: name, publicKey: own.publicKey, names: [], isAuthority: true }
  return {
    ca: certificate({ ...authority, ...usual }, own.privateKey),
    issue(names, validity = usual) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const leaf = {
        issuer: name,
        subject: names[0] ?? 'nobody',
        publicKey,
        names,
        isAuthority: false,
        ...validity,
      }
      return {
        key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        cert: certificate(leaf, own.privateKey),
      }
    },
  }
}
