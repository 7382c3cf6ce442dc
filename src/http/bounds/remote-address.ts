/**
 * Derives the key under which requests, connections and streams of one client address are counted, also behind trusted
 * proxies.
 */
import { type Ip, type Net, netHolds, parseIp, parseNet } from '../../core/ip.ts'

/** IPv4 addresses as an IPv6 socket reports them, RFC 4291. */
const MAPPED_V4 = parseNet('::ffff:0:0/96')
/** Length of the prefix assigned to one customer, in bytes (RFC 6177): addresses within it are free. */
const V6_NET_BYTES = 8

/** The operator's own networks, where a proxy or load balancer may forward for all clients. */
const OWN_NETS = [
  '127.0.0.0/8', // loopback, RFC 1122
  '10.0.0.0/8', // private, RFC 1918
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10', // shared, RFC 6598; load balancers of some clouds
  '169.254.0.0/16', // link-local, RFC 3927
  '::1/128', // loopback, RFC 4291
  'fc00::/7', // private, RFC 4193
  'fe80::/10', // link-local, RFC 4291
].map(parseNet)

/** A client address as it is counted. */
export interface ClientAddress {
  /** The IPv4 address, or the first 64 bits of an IPv6 one, as hex. */
  key: string
  /** In one of the operator's own networks, so it may stand for many clients. */
  isOwn: boolean
}

/** The part of a request that tells its client's address. */
interface Addressed {
  socket: { remoteAddress?: string | undefined }
  headers: Readonly<Record<string, string | string[] | undefined>>
}

/**
 * The address of the client that sent a request, null where it cannot be read. X-Forwarded-For counts only as far as
 * trusted proxies have written it: any client can set it.
 */
export function clientAddress({ socket, headers }: Addressed, trusted: readonly Net[]): ClientAddress | null {
  let ip = readIp(socket.remoteAddress ?? '')
  const hops = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
  while (ip !== null && holds(trusted, ip)) {
    const before = readIp(withoutPort((hops.pop() ?? '').trim()))
    if (before === null) break
    ip = before
  }
  return ip === null ? null : countedAs(ip)
}

/**
 * Reads the address of a request's client as `clientAddress` does. What it read last is kept: one request is asked for
 * its address several times, and a flood comes from one address.
 */
export function createAddressReader(trusted: readonly Net[]): (request: Addressed) => ClientAddress | null {
  let last: { from: string; forwarded: string | string[] | undefined; address: ClientAddress | null } | null =
    null
  return (request) => {
    const from = request.socket.remoteAddress ?? ''
    // Without trusted proxies nobody reads what was forwarded.
    const forwarded = trusted.length === 0 ? undefined : request.headers['x-forwarded-for']
    if (last !== null && last.from === from && last.forwarded === forwarded) return last.address
    last = { from, forwarded, address: clientAddress(request, trusted) }
    return last.address
  }
}

/** A counted address as people write it: `192.0.2.1`, or `2001:db8:0:1::/64`; null for an empty key. */
export function addressText(key: string): string | null {
  if (key === '') return null
  const bytes = Buffer.from(key, 'hex')
  if (bytes.length === 4) return [...bytes].join('.')
  const groups = Array.from({ length: V6_NET_BYTES / 2 }, (_, at) => bytes.readUInt16BE(2 * at).toString(16))
  return `${groups.join(':').replace(/(^|:)0(:0)*$/, '')}::/${8 * V6_NET_BYTES}`
}

/** Whether a connection comes from a proxy whose X-Forwarded-For is believed. */
export function isTrustedProxy(remoteAddress: string | undefined, trusted: readonly Net[]): boolean {
  const ip = readIp(remoteAddress ?? '')
  return ip !== null && holds(trusted, ip)
}

function countedAs(ip: Ip): ClientAddress {
  const key = Buffer.from(ip.length === 16 ? ip.subarray(0, V6_NET_BYTES) : ip).toString('hex')
  return { key, isOwn: holds(OWN_NETS, ip) }
}

/** The bytes of an address, those of an IPv4 one also where it is mapped into IPv6. */
function readIp(text: string): Ip | null {
  const written = parseIp(text)
  return written !== null && netHolds(MAPPED_V4, written) ? written.subarray(12) : written
}

/** Some proxies write `192.0.2.1:4711` and `[2001:db8::1]:4711`. */
function withoutPort(text: string): string {
  return /^\[(.+)\](:\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
}

function holds(nets: readonly Net[], ip: Ip): boolean {
  return nets.some((net) => netHolds(net, ip))
}
