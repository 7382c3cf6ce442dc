/** Lists what names resolve to: one resolution, changing answers, redirects, and names behind a proxy. */
import type { RuleSet } from './cases.ts'

/** The outcome of the resolution. */
export type NameExpectation = 'addresses' | 'blocked' | 'unresolved'

/** URL after the two slashes, all addresses of one resolution, expected outcome, reason. */
export type NameCase = readonly [
  rest: string,
  answers: readonly string[],
  expected: NameExpectation,
  why: string,
  rules?: RuleSet,
]

const HOST = 'hooks.example'
/** The largest number of public addresses that a resolver returns. */
const CROWD = Array.from({ length: 499 }, (_, at) => `8.8.${at >> 8}.${at & 255}`)

/** One resolution. */
export const nameCases: readonly NameCase[] = [
  [HOST, ['8.8.8.8'], 'addresses', 'a public host'],
  [HOST, ['2606:4700::1111'], 'addresses', 'a public host of IPv6'],
  [HOST, ['8.8.8.8', '2606:4700::1111', '1.1.1.1'], 'addresses', 'several, all public'],
  [HOST, ['::ffff:8.8.8.8'], 'addresses', 'public, mapped'],
  [HOST, CROWD, 'addresses', '499 answers, all public'],
  [HOST, [], 'unresolved', 'no answer'],
  [HOST, ['127.0.0.1'], 'blocked', 'a public name of loopback'],
  ['127.0.0.1.hooks.example', ['127.0.0.1'], 'blocked', 'a service that turns names into addresses'],
  [
    'alias.hooks.example',
    ['10.0.0.5'],
    'blocked',
    'an alias (CNAME) into a private net: what counts is where it ends',
  ],
  [HOST, ['10.0.0.1'], 'blocked', 'private'],
  [HOST, ['172.31.255.254'], 'blocked', 'private'],
  [HOST, ['192.168.1.1'], 'blocked', 'private'],
  [HOST, ['169.254.169.254'], 'blocked', 'metadata'],
  [HOST, ['169.254.170.2'], 'blocked', 'metadata of containers'],
  [HOST, ['100.100.100.200'], 'blocked', 'metadata of another cloud'],
  [HOST, ['192.0.0.192'], 'blocked', 'metadata of a third'],
  [HOST, ['fd00:ec2::254'], 'blocked', 'metadata over IPv6'],
  [HOST, ['0.0.0.0'], 'blocked', 'this machine, on many systems'],
  [HOST, ['::'], 'blocked', 'this machine, on many systems'],
  [HOST, ['::1'], 'blocked', 'loopback'],
  [HOST, ['::ffff:127.0.0.1'], 'blocked', 'loopback, mapped'],
  [HOST, ['::ffff:a9fe:a9fe'], 'blocked', 'metadata, mapped, in hex'],
  [HOST, ['64:ff9b::7f00:1'], 'blocked', 'loopback over NAT64'],
  [HOST, ['2002:a00:1::1'], 'blocked', '6to4 of a private host'],
  [HOST, ['fe80::1'], 'blocked', 'link-local'],
  [HOST, ['224.0.0.251'], 'blocked', 'multicast'],
  [HOST, ['255.255.255.255'], 'blocked', 'broadcast'],
  [HOST, ['8.8.8.8', '10.0.0.1'], 'blocked', 'one public, one private'],
  [HOST, ['10.0.0.1', '8.8.8.8'], 'blocked', 'the private one first'],
  [HOST, ['8.8.8.8', '::1'], 'blocked', 'the other family is the private one'],
  [HOST, [...CROWD, '127.0.0.1'], 'blocked', 'the last of 500 is loopback'],
  [HOST, ['8.8.8.8', 'not an address'], 'blocked', 'an answer that cannot be read'],
  [HOST, ['8.8.8.8', ''], 'blocked', 'an empty answer'],
  [HOST, ['10.20.1.1'], 'addresses', 'in the operator’s net', 'desk'],
  [HOST, ['10.20.1.1', '8.8.8.8'], 'addresses', 'in the net or public: the port is a usual one', 'desk'],
  [HOST, ['10.20.1.1', '10.21.0.1'], 'blocked', 'one just outside', 'desk'],
  [`${HOST}:9443`, ['10.20.1.1'], 'addresses', 'another port, in the net', 'desk'],
  [`${HOST}:9443`, ['8.8.8.8'], 'blocked', 'another port at a public host', 'desk'],
  [`${HOST}:9443`, ['10.20.1.1', '8.8.8.8'], 'blocked', 'another port, one answer public', 'desk'],
  ['sink', ['10.20.1.1'], 'addresses', 'a container in the net', 'desk'],
  ['sink', ['8.8.8.8'], 'blocked', 'a name without a dot that the search list made public', 'desk'],
  ['localhost', ['8.8.8.8'], 'blocked', 'localhost is this machine whatever a server says', 'desk'],
  ['localhost', ['8.8.8.8'], 'addresses', 'this machine, allowed; nobody is asked', 'local'],
  ['x.localhost', ['8.8.8.8'], 'addresses', 'the same below it', 'local'],
  ['localhost:9000', [], 'addresses', 'this machine by the family that is allowed', 'local4'],
  ['x.localhost:9000', [], 'addresses', 'the same below it', 'local4'],
  [HOST, ['127.0.0.1', '::1'], 'blocked', 'a name that answers outside the net too', 'local4'],
  ['10.20.1.1', [], 'addresses', 'an address is not asked for', 'desk'],
]

/** The addresses for each attempt; P is the public host, X must never be reached. Then the outcome of each attempt. */
export type RebindingCase = readonly [
  answers: readonly (readonly string[])[],
  ends: readonly ('ok' | 'blocked')[],
  why: string,
]

const P = '127.0.0.2'
const X = '127.0.0.3'

/** Names whose addresses change between attempts. */
export const rebindingCases: readonly RebindingCase[] = [
  [[[P], [X]], ['ok', 'blocked'], 'the second answer is the private host'],
  [[[X], [P]], ['blocked', 'ok'], 'the first one is, the next attempt is judged anew'],
  [[[P], [X], [P]], ['ok', 'blocked', 'ok'], 'there and back'],
  [[[P], [P, X]], ['ok', 'blocked'], 'the private host joins'],
  [[[P, X], [P]], ['blocked', 'ok'], 'the private host leaves'],
  [[[X, P]], ['blocked', 'blocked'], 'the private host first, always'],
  [[[P], ['127.0.0.1']], ['ok', 'blocked'], 'to this machine'],
  [[[P], ['::1']], ['ok', 'blocked'], 'to this machine, other family'],
  [[[P], ['::ffff:127.0.0.3']], ['ok', 'blocked'], 'mapped'],
  [[[P], ['64:ff9b::7f00:3']], ['ok', 'blocked'], 'over NAT64'],
  [[[P], [P], [P], [X]], ['ok', 'ok', 'ok', 'blocked'], 'after a while, with a connection kept open'],
  [[['::ffff:127.0.0.2'], [X]], ['ok', 'blocked'], 'from the mapped form'],
]

/** Status and redirect target: `X` is the private host with its port. */
export const redirectCases: readonly (readonly [status: number, location: string, why: string])[] = [
  ...[300, 301, 302, 303, 305, 307, 308].map((status) => [status, 'http://X/', `status ${status}`] as const),
  [302, '//X/', 'without a scheme'],
  [302, 'http:X/', 'without slashes'],
  [302, 'HTTP://X/', 'in capitals'],
  [302, 'http://user@X/', 'with a user'],
  [302, '/elsewhere', 'to the same host'],
  [307, 'http://localhost/', 'to this machine by name'],
  [307, 'http://[::1]/', 'to this machine, IPv6'],
  [302, 'file:///etc/passwd', 'to a file'],
  [302, 'gopher:X/_x', 'to another protocol'],
  [304, 'http://X/', 'not modified'],
  [201, 'http://X/', 'made, with a location'],
  [200, 'http://X/', 'a good answer with a location'],
  [302, '', 'to nowhere'],
]

/** Resolved addresses, the outcome, and the address in the CONNECT to the proxy (then `:PORT`). */
export const proxyCases: readonly (readonly [
  answers: readonly string[],
  end: 'ok' | 'blocked' | 'dns',
  asked: string | null,
  why: string,
])[] = [
  [[P], 'ok', P, 'the judged address, never the name'],
  [[P, P], 'ok', P, 'twice the same'],
  [['::ffff:127.0.0.2'], 'ok', '[::ffff:127.0.0.2]', 'brackets around IPv6'],
  [[X], 'blocked', null, 'a private host'],
  [[P, X], 'blocked', null, 'one of two is private'],
  [['127.0.0.1'], 'blocked', null, 'the proxy’s own machine'],
  [['::1'], 'blocked', null, 'the same, IPv6'],
  [['169.254.169.254'], 'blocked', null, 'metadata of the proxy’s machine'],
  [['10.0.0.1'], 'blocked', null, 'the proxy’s net'],
  [['fd00:ec2::254'], 'blocked', null, 'metadata over IPv6'],
  [['8.8.8.8'], 'blocked', null, 'public, but the port is for the nets alone'],
  [[], 'dns', null, 'no address: the proxy is not asked to resolve'],
]
