/**
 * Reads PEM files that settings name, and says what is wrong with one without repeating its path or content.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import type { FieldError } from '../errors.ts'
import type { ReadFile } from './environment.ts'

const BEGIN = '-----BEGIN CERTIFICATE-----'
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** A setting that names a file; `path` undefined where it is not given. */
export interface PemSetting {
  field: string
  path: string | undefined
}

/** When the first of the certificates in a PEM text expires, ms since 1970. Throws where one cannot be read, or there is none. */
export function earliestExpiryMs(pem: string): number {
  const certificates = pem.match(CERTIFICATE)
  if (certificates === null) throw new Error('there is no certificate in it')
  return Math.min(...certificates.map((one) => Date.parse(new X509Certificate(one).validTo)))
}

/** The certificates in a file; null where none is named, or with an error in `errors`. */
export function readCertificates(file: PemSetting, readFile: ReadFile, errors: FieldError[]): string | null {
  return readPem(file, readFile, wrongCertificates, errors)
}

/** A certificate and its key; each null as `readCertificates`, and an error where the two do not fit. */
export function readCertificateWithKey(
  { cert: certFile, key: keyFile }: { cert: PemSetting; key: PemSetting },
  readFile: ReadFile,
  errors: FieldError[],
): { cert: string | null; key: string | null } {
  const cert = readCertificates(certFile, readFile, errors)
  const key = readPem(keyFile, readFile, wrongKey, errors)
  if (cert !== null && key !== null && !new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    const message = `does not hold the key of the certificate in ${certFile.field}`
    errors.push({ field: keyFile.field, message })
  }
  return { cert, key }
}

function readPem(
  { field, path }: PemSetting,
  readFile: ReadFile,
  check: (text: string) => string | null,
  errors: FieldError[],
): string | null {
  if (path === undefined) return null
  let text: string
  try {
    text = readFile(path)
  } catch (error) {
    errors.push({ field, message: `must name a readable PEM file: ${whyUnreadable(error)}` })
    return null
  }
  const message = check(text)
  if (message === null) return text
  errors.push({ field, message })
  return null
}

function wrongCertificates(text: string): string | null {
  const certificates = text.match(CERTIFICATE)
  if (certificates === null) {
    return 'must name a PEM file with a certificate: the file has no line BEGIN CERTIFICATE'
  }
  if (certificates.length !== text.split(BEGIN).length - 1) {
    return 'must name a PEM file with certificates: one in it has no line END CERTIFICATE'
  }
  try {
    for (const certificate of certificates) new X509Certificate(certificate)
    return null
  } catch {
    return 'must name a PEM file with a certificate: the one in it is damaged'
  }
}

function wrongKey(text: string): string | null {
  if (/BEGIN ENCRYPTED PRIVATE KEY|^Proc-Type: .*ENCRYPTED/m.test(text)) {
    return 'must name a key without a passphrase: decrypt it with openssl pkey, and keep the file readable for this user alone'
  }
  return parsedKey(text) === null ? 'must name a PEM file with a private key: the file has none' : null
}

function parsedKey(text: string): KeyObject | null {
  try {
    return createPrivateKey(text)
  } catch {
    return null
  }
}

function whyUnreadable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'this user may not read the file'
  if (code === 'EISDIR') return 'it is a directory'
  return 'the file cannot be read'
}
