/**
 * Translates a network error into a plain sentence and advice for the user of a command.
 */
import { classifyThrown } from '../../upstream/outcome.ts'

/** What happened, and what a person can do about it. */
export interface NetworkWords {
  what: string
  todo: string
}

const CERTIFICATE =
  /^(CERT_|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_CA|CRL_|ERR_SSL_TLSV1_ALERT)/
const WRONG_PROTOCOL = /^(ERR_SSL_|EPROTO)/

const CUT: NetworkWords = {
  what: 'the connection was closed',
  todo: 'try again; check proxies and the log of the other side',
}
const SILENT: NetworkWords = {
  what: 'it did not answer in time',
  todo: 'check the address, firewalls and proxies',
}

const words: Readonly<Record<string, NetworkWords>> = {
  ECONNREFUSED: { what: 'nothing listens there', todo: 'start it, or correct host and port' },
  ENOTFOUND: { what: 'the host name is unknown', todo: 'correct the host, or check DNS' },
  EAI_AGAIN: { what: 'DNS does not answer', todo: 'check the network and its DNS' },
  ECONNRESET: CUT,
  UND_ERR_SOCKET: CUT,
  EHOSTUNREACH: { what: 'that host is unreachable', todo: 'check the network and firewalls' },
  ENETUNREACH: { what: 'that network is unreachable', todo: 'check the network and firewalls' },
  'bad port': { what: 'fetch blocks that port', todo: 'choose another port' },
  ETIMEDOUT: SILENT,
  UND_ERR_CONNECT_TIMEOUT: SILENT,
  /** Of `AbortSignal.timeout`. */
  TimeoutError: SILENT,
}

/** The words for an error that `fetch` threw. */
export function networkWordsOf(error: unknown): NetworkWords {
  const { failure } = classifyThrown(error)
  return networkWords(failure.kind === 'network' ? failure.message : failure.kind)
}

/** The words for an error code of the network, as `upstream/outcome.ts` finds it. */
export function networkWords(code: string): NetworkWords {
  const known = words[code]
  if (known !== undefined) return known
  if (CERTIFICATE.test(code)) {
    return {
      what: `its certificate is not trusted (${code})`,
      todo: 'check the host name; for a private certificate authority set NODE_EXTRA_CA_CERTS to its PEM file',
    }
  }
  if (WRONG_PROTOCOL.test(code)) {
    return { what: `it does not speak TLS as expected (${code})`, todo: 'check whether it is http or https' }
  }
  if (code.startsWith('HPE_') || code === 'HTTPParserError') {
    return { what: `the answer is not HTTP (${code})`, todo: 'check host and port' }
  }
  return { what: `the connection failed (${code})`, todo: 'check the address and the network' }
}
