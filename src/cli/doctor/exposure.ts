/**
 * Checks what strangers could read or guess with these settings: connections in clear, keys that are easy to guess, and
 * certificates that Node does not check. Sends nothing.
 */
import { isLoopback } from '../../core/ip.ts'
import type { Settings } from '../../settings/settings.ts'
import { counted } from '../terminal/text.ts'
import { type Finding, warn } from './finding.ts'

/** A random text of 16 hex digits nearly always has more different characters. */
const LEAST_DIFFERENT = 8

type Exposed = Pick<
  Settings,
  'http' | 'httpTls' | 'ops' | 'upstream' | 'roles' | 'adminToken' | 'secretKey' | 'oldSecretKey'
>

/** A warning for each risk; empty where there is none. `env`: the environment of the process. */
export function checkExposure(
  settings: Exposed,
  env: Readonly<Record<string, string | undefined>>,
): Finding[] {
  return [...checkConnections(settings), ...checkNode(env), ...checkKeys(settings)]
}

function checkConnections({ http, httpTls, ops, upstream, roles }: Exposed): Finding[] {
  const findings: Finding[] = []
  if (!isLoopback(http.host) && httpTls === null) {
    findings.push(
      warn(
        'exposure',
        `BRIDGE_HTTP_HOST is ${http.host}: other machines reach this listener without TLS, and can read tokens and secrets on the way`,
        'let a proxy with TLS be the only one that reaches it, or set BRIDGE_HTTP_TLS_CERT_FILE and BRIDGE_HTTP_TLS_KEY_FILE',
      ),
    )
  }
  if (!isLoopback(ops.host)) {
    findings.push(
      warn(
        'exposure',
        `BRIDGE_OPS_HOST is ${ops.host}: anybody who reaches it reads metrics and readiness without a token`,
        'let a firewall or a network policy admit the monitoring alone',
      ),
    )
  }
  if (upstream === null || !roles.includes('poller')) return findings
  const { protocol, hostname } = new URL(upstream.url)
  if (protocol === 'http:' && !isLoopback(hostname)) {
    const finding = `BRIDGE_UPSTREAM_URL is http: the API key goes to ${hostname} in clear`
    findings.push(warn('exposure', finding, 'use https'))
  }
  return findings
}

function checkNode({ NODE_TLS_REJECT_UNAUTHORIZED: reject }: Readonly<Record<string, string | undefined>>) {
  if (reject !== '0') return []
  return [
    warn(
      'exposure',
      'NODE_TLS_REJECT_UNAUTHORIZED is 0: commands that talk to a bridge accept every certificate; upstream, webhooks and Kafka check theirs nevertheless',
      'unset it, and name a private authority with NODE_EXTRA_CA_CERTS',
    ),
  ]
}

/** Warnings never repeat a key. */
function checkKeys({ adminToken, secretKey, oldSecretKey }: Exposed): Finding[] {
  const keys = [
    { name: 'BRIDGE_ADMIN_TOKEN', text: adminToken, bytes: 16 },
    { name: 'BRIDGE_SECRET_KEY', text: secretKey, bytes: 32 },
    { name: 'BRIDGE_SECRET_KEY_OLD', text: oldSecretKey, bytes: 32 },
  ].flatMap(({ text, ...key }) => (text === null ? [] : [{ ...key, text }]))
  const weak = keys.flatMap(({ name, text, bytes }) => {
    const different = new Set(text).size
    if (different >= LEAST_DIFFERENT) return []
    const finding = `${name} has only ${counted(different, 'different character')}: it can be guessed`
    return [warn('keys', finding, `make a random one: openssl rand -hex ${bytes}`)]
  })
  const equal = keys.flatMap(({ name, text }, index) => {
    const other = keys.slice(0, index).find((one) => one.text === text)
    if (other === undefined) return []
    const todo =
      name === 'BRIDGE_SECRET_KEY_OLD' && other.name === 'BRIDGE_SECRET_KEY'
        ? 'set it to the key before, or leave it out'
        : 'give each a text of its own'
    return [warn('keys', `${name} is equal to ${other.name}`, todo)]
  })
  return [...weak, ...equal]
}
