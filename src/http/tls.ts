/**
 * Makes the server of a listener, with TLS where certificate files are given, and takes a new certificate while it runs
 * when the files change. Connections that are open keep the one they began with.
 */
import { readFileSync } from 'node:fs'
import type { RequestListener, Server, ServerOptions } from 'node:http'
import { createSecureContext, type TLSSocket, Server as TlsServer } from 'node:tls'
import { BridgeError } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { followFiles, type ReadSeen } from '../lifecycle/followed-files.ts'
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

/** The certificate that new connections get. */
export interface UsedCertificate {
  /** PEM, with its chain; null on plain HTTP. */
  readonly cert: string | null
  /** Stops looking at the files. */
  end(): void
}

/** As for the headers of a request. */
const HANDSHAKE_TIMEOUT_MS = 10_000

const readText: ReadSeen = (path) => readFileSync(path, 'utf8')

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

/** Takes changed files into use until it is ended: every few seconds, and at SIGHUP. Files that do not fit are logged and left. */
export function followTlsFiles(
  server: Server,
  files: TlsFiles | null,
  { clock, logger }: { clock: Clock; logger: Logger },
): UsedCertificate {
  if (files === null || !(server instanceof TlsServer)) return { cert: null, end: () => undefined }
  const ended = new AbortController()
  const used = { cert: read(files).cert, end: () => ended.abort() }
  const followed = {
    paths: [files.certFile, files.keyFile],
    texts: null,
    read: (seen: ReadSeen) => read(files, seen),
    take(certificate: Certificate) {
      server.setSecureContext(certificate)
      used.cert = certificate.cert
      logger.info('http.certificate_reloaded')
    },
    refuse: (error: unknown) => logger.error('http.certificate_refused', { error }),
  }
  void followFiles(followed, clock, ended.signal)
  return used
}

function read({ certFile, keyFile }: TlsFiles, readFile: ReadSeen = readText): Certificate {
  try {
    const certificate = { cert: readFile(certFile), key: readFile(keyFile) }
    createSecureContext(certificate)
    return certificate
  } catch (cause) {
    throw new BridgeError('settings', 'the certificate of the listener cannot be used', {
      hint: 'BRIDGE_HTTP_TLS_CERT_FILE and BRIDGE_HTTP_TLS_KEY_FILE must name PEM files of a certificate with its chain, and of its key.',
      cause,
    })
  }
}
