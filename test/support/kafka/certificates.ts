/**
 * Creates keys and certificates for one test with `openssl`, signed by an authority of its own; none is ever
 * committed.
 */
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A key and its certificate, in PEM. */
export interface KeyPair {
  keyFile: string
  certFile: string
  key: string
  cert: string
}

/** Signs certificates for localhost and for clients. */
export interface Authority {
  /** Its own certificate in PEM: what the other side must trust. */
  readonly ca: string
  readonly caFile: string
  /** A pair for the name; of a server at 127.0.0.1 and localhost too. */
  issue(name: string): Promise<KeyPair>
}

/**
 * Makes an authority in a folder of the test.
 * @throws Error when openssl is missing or fails
 */
export async function createAuthority(folder: string): Promise<Authority> {
  mkdirSync(folder, { recursive: true })
  const own = await sign(folder, 'authority', ['-addext', 'basicConstraints=critical,CA:TRUE'])
  return {
    ca: own.cert,
    caFile: own.certFile,
    issue: (name) =>
      sign(folder, name, [
        ...['-CA', own.certFile, '-CAkey', own.keyFile],
        ...['-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'],
        ...['-addext', 'basicConstraints=critical,CA:FALSE'],
      ]),
  }
}

async function sign(folder: string, name: string, more: readonly string[]): Promise<KeyPair> {
  const keyFile = join(folder, `${name}.key`)
  const certFile = join(folder, `${name}.crt`)
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-noenc', '-days', '2', '-subj', `/CN=${name}`]
  await promisify(execFile)('openssl', [...request, '-keyout', keyFile, '-out', certFile, ...more]).catch(
    (error: NodeJS.ErrnoException) => {
      const hint =
        error.code === 'ENOENT' ? 'openssl is missing (Debian: apt-get install openssl)' : error.message
      throw new Error(`No certificate for ${name}: ${hint}`, { cause: error })
    },
  )
  chmodSync(keyFile, 0o600)
  return { keyFile, certFile, key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') }
}
