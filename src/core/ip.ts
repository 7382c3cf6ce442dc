/**
 * Parses IP addresses and networks to bytes, so that every notation of an address gives the same value.
 * Zones, ports and the notations of browsers (`0x7f.1`) are not accepted.
 */
import { isIPv4, isIPv6 } from 'node:net'

/** The bytes of an address in network order: four, or sixteen. */
export type Ip = Uint8Array

/** A network: the first `bits` bits of an address. */
export interface Net {
  /** The text as given. */
  text: string
  base: Ip
  bits: number
}

/** Parses an address; null where the text is none. A zone (`fe80::1%eth0`) is rejected: it names one machine's interface. */
export function parseIp(text: string): Ip | null {
  if (isIPv4(text)) return new Uint8Array(text.split('.').map(Number))
  return isIPv6(text) && !text.includes('%') ? bytesOfV6(text) : null
}

/**
 * Parses a network such as `10.0.0.0/8` or `fd00::/8`; bits beyond its length are ignored.
 * @throws TypeError where the text is none: settings and tables have been checked before
 */
export function parseNet(text: string): Net {
  const net = netOf(text)
  if (net === null) throw new TypeError(`${text} is no net`)
  return net
}

/** True for a network such as `10.0.0.0/8` or `fd00::/8`. */
export function isNet(text: string): boolean {
  return netOf(text) !== null
}

function netOf(text: string): Net | null {
  const [, address = '', length = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  const base = parseIp(address)
  const bits = Number(length)
  return base === null || bits > base.length * 8 ? null : { text, base, bits }
}

/** Whether the network contains the address. An address of the other family never does. */
export function netHolds({ base, bits }: Net, ip: Ip): boolean {
  if (ip.length !== base.length) return false
  const whole = bits >> 3
  for (let at = 0; at < whole; at++) {
    if (ip[at] !== base[at]) return false
  }
  const rest = bits & 7
  return rest === 0 || ((ip[whole] ?? 0) ^ (base[whole] ?? 0)) >> (8 - rest) === 0
}

function bytesOfV6(text: string): Ip {
  const [head = '', tail] = dottedAsGroups(text).split('::')
  const before = groupsOf(head)
  const after = groupsOf(tail ?? '')
  const ip = new Uint8Array(16)
  before.forEach((group, at) => {
    writeGroup(ip, at, group)
  })
  after.forEach((group, at) => {
    writeGroup(ip, 8 - after.length + at, group)
  })
  return ip
}

/** `::ffff:1.2.3.4` as `::ffff:102:304`. */
function dottedAsGroups(text: string): string {
  if (!text.includes('.')) return text
  const cut = text.lastIndexOf(':') + 1
  const [a = 0, b = 0, c = 0, d = 0] = text.slice(cut).split('.').map(Number)
  return `${text.slice(0, cut)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}

function writeGroup(ip: Ip, at: number, group: number): void {
  ip[at * 2] = group >> 8
  ip[at * 2 + 1] = group & 0xff
}

/** Whether a host, as in a setting or a URL, is this machine: `localhost` or a loopback address. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1')
  if (name === 'localhost' || name.endsWith('.localhost')) return true
  const ip = parseIp(name)
  return (
    ip !== null && (ip.length === 4 ? ip[0] === 127 : ip.every((byte, at) => byte === (at === 15 ? 1 : 0)))
  )
}
