/**
 * Decides from the text of a URL whether webhooks may be sent to it: scheme, host, port and form of the parsed URL. Names are
 * resolved only at each attempt (`guard.ts`).
 */
import { isIP } from 'node:net'
import type { SettingName } from '../../settings/schema.ts'
import { type AddressRules, judgeAddress } from './rules.ts'

/** The target of a webhook, from a checked URL. */
export interface WebhookTarget {
  /** The parsed URL, without userinfo and fragment; what is kept and sent to. */
  url: string
  scheme: 'http' | 'https'
  /** Name in lower case without a dot at its end, or an IP address without brackets: for SNI, certificate and resolver. */
  host: string
  port: number
  /** Path and query. */
  path: string
  /**
   * True where only an address in the operator's nets may answer for the name: its port is none of the usual ones, or the
   * name is none of the public ones.
   */
  allowedNetsOnly: boolean
}

/** What is wrong with a URL: a closed list. `address` is all that a tenant gets to know of a host that is refused. */
export const urlRefusals = ['form', 'length', 'scheme', 'userinfo', 'fragment', 'port', 'address'] as const
/** One of them. */
export type UrlRefusal = (typeof urlRefusals)[number]

/** The target, or a refusal: a code and a text for the tenant with what to write instead. */
export type UrlVerdict =
  | { kind: 'ok'; target: WebhookTarget }
  | { kind: 'refused'; refusal: UrlRefusal; message: string }

/** The one error text for every refused host: it reveals nothing about the bridge's network. */
export const BLOCKED_ADDRESS = 'must not lead to a private, loopback, link-local or metadata address'

/** Longest URL that is taken, in characters, before and after parsing; what the common servers take too. */
export const LONGEST_URL = 2048

/** Controls, blanks and backslashes: the parser drops or turns them, so that text and target would differ. */
const ODD_CHARACTERS = /[\0-\x20\x7f\\]/
const DEFAULT_PORTS = { http: 80, https: 443 } as const

/** Names under which clouds serve credentials to their machines; each with all names below it. */
const METADATA_NAMES = [
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'metadata.tencentyun.com',
  'metadata.packet.net',
  'metadata.platformequinix.com',
  'instance-data',
  'instance-data.ec2.internal',
]

/** Settings with which the operator allows what is refused. */
const SETTINGS = {
  scheme: 'BRIDGE_WEBHOOK_ALLOW_HTTP',
  port: 'BRIDGE_WEBHOOK_PORTS',
  address: 'BRIDGE_WEBHOOK_ALLOW_NETS',
} as const satisfies Partial<Record<UrlRefusal, SettingName>>

/** The text of a refusal for the operator: it names the setting, where one allows what is refused. */
export function operatorMessage(verdict: UrlVerdict & { kind: 'refused' }, rules: AddressRules): string {
  const { refusal, message } = verdict
  if (refusal === 'scheme' && rules.allowHttp) return message
  const setting = Object.hasOwn(SETTINGS, refusal) ? SETTINGS[refusal as keyof typeof SETTINGS] : null
  return setting === null ? message : `${message}; as its operator, allow it with ${setting}`
}

/** Judges the text of a URL. Pure: the same for the same rules, whatever any name leads to. */
export function judgeUrl(text: string, rules: AddressRules): UrlVerdict {
  if (text.length > LONGEST_URL) return refused('length', `is longer than ${LONGEST_URL} characters`)
  if (ODD_CHARACTERS.test(text)) return refused('form', 'must hold no blank, backslash or control character')
  const url = URL.parse(text)
  if (url === null) return refused('form', 'must be a URL such as https://hooks.example/path')
  const scheme = schemeOf(url)
  if (scheme === null) {
    return refused('scheme', `must begin with https://${rules.allowHttp ? ' or http://' : ''}`)
  }
  if (scheme === 'http' && !rules.allowHttp) {
    return refused('scheme', 'must begin with https://: plain http is off here')
  }
  if (!/^https?:\/\/[^/]/i.test(text)) return refused('form', 'must have its host right after the //')
  if (/^[a-z]+:\/\/[^/?#]*@/i.test(text)) {
    return refused('userinfo', 'must hold no user or password before the host: use a custom header')
  }
  if (text.includes('#')) return refused('fragment', 'must have no fragment (#): it would never be sent')
  if (url.href.length > LONGEST_URL) {
    return refused('length', `is longer than ${LONGEST_URL} characters once it is encoded`)
  }
  return judgeHost(url, scheme, rules)
}

function judgeHost(url: URL, scheme: WebhookTarget['scheme'], rules: AddressRules): UrlVerdict {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const port = url.port === '' ? DEFAULT_PORTS[scheme] : Number(url.port)
  if (host === '' || host.length > 253)
    return refused('form', 'must have a host name of up to 253 characters')
  // Resolvers differ about empty labels, and a second dot at the end would hide a metadata name.
  if (host.split('.').includes('')) return refused('form', 'must have a host name without an empty part (..)')
  if (port === 0) return refused('port', 'must have a port from 1 to 65535')
  const target: WebhookTarget = {
    url: url.href,
    scheme,
    host,
    port,
    path: `${url.pathname}${url.search}`,
    allowedNetsOnly: false,
  }
  if (isIP(host) !== 0) return judgeLiteral(target, rules)
  if (METADATA_NAMES.some((name) => isOrBelow(host, name))) return refused('address', BLOCKED_ADDRESS)
  const usualPort = isUsualPort(scheme, port, rules)
  const publicName = host.includes('.') && !isOrBelow(host, 'localhost')
  if (usualPort && publicName) return { kind: 'ok', target }
  if (rules.allowNets.length > 0) return { kind: 'ok', target: { ...target, allowedNetsOnly: true } }
  return publicName ? refusedPort(rules) : refused('address', BLOCKED_ADDRESS)
}

/** A literal address is allowed only in the operator's nets: certificates of public hosts name no addresses. */
function judgeLiteral(target: WebhookTarget, rules: AddressRules): UrlVerdict {
  if (judgeAddress(target.host, rules).kind !== 'allowed') return refused('address', BLOCKED_ADDRESS)
  return { kind: 'ok', target: { ...target, allowedNetsOnly: true } }
}

function isUsualPort(scheme: WebhookTarget['scheme'], port: number, rules: AddressRules): boolean {
  return rules.ports.has(port) || (scheme === 'http' && port === DEFAULT_PORTS.http)
}

function isOrBelow(host: string, name: string): boolean {
  return host === name || host.endsWith(`.${name}`)
}

function schemeOf({ protocol }: URL): WebhookTarget['scheme'] | null {
  if (protocol === 'https:') return 'https'
  return protocol === 'http:' ? 'http' : null
}

function refusedPort(rules: AddressRules): UrlVerdict {
  return refused('port', `must have one of the ports ${[...rules.ports].join(', ')}`)
}

function refused(refusal: UrlRefusal, message: string): UrlVerdict {
  return { kind: 'refused', refusal, message }
}
