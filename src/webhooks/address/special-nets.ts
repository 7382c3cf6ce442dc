/**
 * Lists the IP networks without public hosts (IANA's special-purpose registries, RFC 6890 and later, and addresses
 * that clouds serve to their own machines only), and finds the IPv4 address inside an IPv6 one.
 */
import { type Ip, netHolds, parseIp, parseNet } from '../../core/ip.ts'

/** Nets of IPv4 that hold no public host, or one that only translates. */
const SPECIAL_V4 = [
  '0.0.0.0/8', // this network, RFC 791
  '10.0.0.0/8', // private, RFC 1918
  '100.64.0.0/10', // shared by carriers, RFC 6598; some clouds keep their metadata here
  '127.0.0.0/8', // loopback, RFC 1122
  '161.26.0.0/16', // services of IBM Cloud, for its machines only
  '166.8.0.0/14', // the same
  '168.63.129.16/32', // services of Azure, for its machines only
  '169.254.0.0/16', // link-local, RFC 3927; metadata of most clouds
  '172.16.0.0/12', // private, RFC 1918
  '192.0.0.0/24', // protocol assignments, RFC 6890; metadata of one cloud
  '192.0.2.0/24', // documentation, RFC 5737
  '192.31.196.0/24', // AS112, RFC 7535
  '192.52.193.0/24', // AMT, RFC 7450
  '192.88.99.0/24', // 6to4 relays, RFC 7526
  '192.168.0.0/16', // private, RFC 1918
  '192.175.48.0/24', // AS112, RFC 7534
  '198.18.0.0/15', // benchmarks, RFC 2544
  '198.51.100.0/24', // documentation, RFC 5737
  '203.0.113.0/24', // documentation, RFC 5737
  '224.0.0.0/4', // multicast, RFC 5771
  '240.0.0.0/4', // reserved and broadcast, RFC 1112, RFC 919
].map(parseNet)

/** The one net of IPv6 that is given out to public hosts, RFC 4291. */
const PUBLIC_V6 = parseNet('2000::/3')

/** What of it holds no public host. */
const SPECIAL_V6 = [
  '2001::/23', // protocol assignments, RFC 2928: Teredo, ORCHID, benchmarks
  '2001:db8::/32', // documentation, RFC 3849
  '2002::/16', // 6to4, RFC 3056: leads to any IPv4 address
  '2620:4f:8000::/48', // AS112, RFC 7534
  '3ffe::/16', // 6bone, given back, RFC 3701
  '3fff::/20', // documentation, RFC 9637
].map(parseNet)

/** IPv6 nets whose last four bytes are an IPv4 address. */
const FOLDED_V4 = [
  '::ffff:0:0/96', // mapped, RFC 4291: the system connects over IPv4
  '::/96', // compatible, RFC 4291; holds :: and ::1 too
  '::ffff:0:0:0/96', // SIIT, RFC 2765
  '64:ff9b::/96', // NAT64, RFC 6052
  '64:ff9b:1::/96', // NAT64 of a site, RFC 8215; elsewhere in its /48 the place of the inner address is the site's secret
].map(parseNet)

/** The IPv4 address inside an IPv6 one; any other address unchanged. */
export function unfold(ip: Ip): Ip {
  return ip.length === 16 && FOLDED_V4.some((net) => netHolds(net, ip)) ? ip.subarray(12) : ip
}

/**
 * The special net that contains the address, or null for that of a public host. Expects what `unfold` gives.
 * `not 2000::/3` means all IPv6 addresses outside of it.
 */
export function specialNetOf(ip: Ip): string | null {
  if (ip.length === 4) return SPECIAL_V4.find((net) => netHolds(net, ip))?.text ?? null
  if (!netHolds(PUBLIC_V6, ip)) return `not ${PUBLIC_V6.text}`
  return SPECIAL_V6.find((net) => netHolds(net, ip))?.text ?? null
}

/** True if two texts mean the same address, in whatever form either is written. */
export function isSameAddress(one: string, other: string): boolean {
  const [a, b] = [parseIp(one), parseIp(other)]
  return a !== null && b !== null && Buffer.compare(unfold(a), unfold(b)) === 0
}
