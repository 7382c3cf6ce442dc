/**
 * Derives the key under which the streams of one client address are counted. X-Forwarded-For is ignored: any client can set
 * it, and no setting names a trusted proxy.
 */
import { netHolds, parseIp, parseNet } from '../../core/ip.ts'

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

/**
 * The key of that address: the IPv4 address, or the first 64 bits of an IPv6 one, as hex. null = not counted, because the
 * address is in one of the operator's own networks or cannot be read.
 */
export function addressKey(remoteAddress: string | undefined): string | null {
  const written = parseIp(remoteAddress ?? '')
  if (written === null) return null
  const ip = netHolds(MAPPED_V4, written) ? written.subarray(12) : written
  if (OWN_NETS.some((net) => netHolds(net, ip))) return null
  return Buffer.from(ip.length === 16 ? ip.subarray(0, V6_NET_BYTES) : ip).toString('hex')
}
