/**
 * From which address a stream comes, as far as that tells anything of who asks. Owns what counts as one address, and which
 * ones are not counted. Refuses headers such as X-Forwarded-For: anybody may write them, and no setting names a proxy that
 * is to be believed.
 */
import { netHolds, parseIp, parseNet } from '../../core/ip.ts'

/** IPv4 addresses as an IPv6 socket shows them, RFC 4291. */
const MAPPED_V4 = parseNet('::ffff:0:0/96')
/** Bytes of an IPv6 address that are the net of one customer, RFC 6177; within it, addresses cost nothing. */
const V6_NET_BYTES = 8

/** Nets of the operator's own, where a proxy or a balancer may stand for all the world. */
const OWN_NETS = [
  '127.0.0.0/8', // loopback, RFC 1122
  '10.0.0.0/8', // private, RFC 1918
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10', // shared, RFC 6598; balancers of some clouds
  '169.254.0.0/16', // link-local, RFC 3927
  '::1/128', // loopback, RFC 4291
  'fc00::/7', // private, RFC 4193
  'fe80::/10', // link-local, RFC 4291
].map(parseNet)

/**
 * What the streams of that address are counted under: the IPv4 address, or the first 64 bits of an IPv6 one, as hex. null:
 * not counted, because the address is one of the operator's own nets or cannot be read.
 */
export function addressKey(remoteAddress: string | undefined): string | null {
  const written = parseIp(remoteAddress ?? '')
  if (written === null) return null
  const ip = netHolds(MAPPED_V4, written) ? written.subarray(12) : written
  if (OWN_NETS.some((net) => netHolds(net, ip))) return null
  return Buffer.from(ip.length === 16 ? ip.subarray(0, V6_NET_BYTES) : ip).toString('hex')
}
