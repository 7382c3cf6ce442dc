/**
 * Makes the server of a listener, with TLS where certificate files are given, and takes a new certificate while it runs
 * when the files change. Connections that are open keep the one they began with.
 */
import { readFileSync } from 'node:fs'
import type { RequestListener, Server, ServerOptions } from 'node:http'
import { createSecureContext, type TLSSocket, Server as TlsServer } from 'node:tls'
import { BridgeError } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { createServer, createTlsServer } from '../lifecycle/node-http.ts'
import type { Logger } from '../obs/logger.ts'

/** PEM files: the certificate with its chain, and its key without a passphrase. */
export interface TlsFiles {
  certFile: string
  keyFile: string
}

interface Certificate {
  cert: string
  key: string
}

/** How often the files are compared: a renewal writes them days before the old certificate ends. */
const RELOAD_MS = 5_000
/** As for the headers of a request. */
const HANDSHAKE_TIMEOUT_MS = 10_000

/**
 * Makes a server that does not listen yet. `files` null: plain HTTP.
 * @throws BridgeError `settings` where a file cannot be read or the two do not fit
 */
export function createListenerServer(
  files: TlsFiles | null,
  options: ServerOptions,
  handler: RequestListener,
): Server {
  if (files === null) return createServer(options, handler)
  const secure = { ...read(files), handshakeTimeout: HANDSHAKE_TIMEOUT_MS }
  const server = createTlsServer({ ...options, ...secure }, handler)
  // Node would hand these on as errors of HTTP, and an answer in clear would follow.
  server.removeAllListeners('tlsClientError')
  server.on('tlsClientError', (_error: Error, socket: TLSSocket) => socket.destroy())
  return server as unknown as Server
}

/** Takes changed files into use until the returned function is called. Files that do not fit are logged and left. */
export function followTlsFiles(
  server: Server,
  files: TlsFiles | null,
  { clock, logger }: { clock: Clock; logger: Logger },
): () => void {
  if (files === null || !(server instanceof TlsServer)) return () => undefined
  let seen = contents(files)
  const check = (): void => {
    cancel = clock.after(RELOAD_MS, check)
    const now = contents(files)
    if (now === seen) return
    seen = now
    try {
      server.setSecureContext(read(files))
      logger.info('http.certificate_reloaded')
    } catch (error) {
      logger.error('http.certificate_refused', { error })
    }
  }
  let cancel = clock.after(RELOAD_MS, check)
  return () => cancel()
}

/** Both texts, to see a change; '' while a file cannot be read. */
function contents({ certFile, keyFile }: TlsFiles): string {
  try {
    return `${readFileSync(certFile, 'utf8')}\n${readFileSync(keyFile, 'utf8')}`
  } catch {
    return ''
  }
}

function read({ certFile, keyFile }: TlsFiles): Certificate {
  try {
    const certificate = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
    createSecureContext(certificate)
    return certificate
  } catch (cause) {
    throw new BridgeError('settings', 'the certificate of the listener cannot be used', {
      hint: 'BRIDGE_HTTP_TLS_CERT_FILE and BRIDGE_HTTP_TLS_KEY_FILE must name PEM files of a certificate with its chain, and of its key.',
      cause,
    })
  }
}
