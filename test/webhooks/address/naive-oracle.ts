/**
 * Decides which addresses are special, by number ranges copied from the registries, and lists the notations of an
 * address. It shares no table, parser or arithmetic with `src/webhooks/address`, as an independent check.
 */

type Range = readonly [first: bigint, last: bigint]

/** First address by its four numbers, and how many addresses there are, as a power of two. */
function v4(a: number, b: number, c: number, power: number): Range {
  const first = BigInt(a) * 16_777_216n + BigInt(b) * 65_536n + BigInt(c) * 256n
  return [first, first + 2n ** BigInt(power) - 1n]
}

/** First address by its leading groups, and the length of the prefix. */
function v6(groups: readonly number[], length: number): Range {
  const first = groups.reduce((sum, group, at) => sum + BigInt(group) * 2n ** BigInt(112 - 16 * at), 0n)
  return [first, first + 2n ** BigInt(128 - length) - 1n]
}

const SPECIAL_V4: readonly Range[] = [
  v4(0, 0, 0, 24),
  v4(10, 0, 0, 24),
  v4(100, 64, 0, 22),
  v4(127, 0, 0, 24),
  v4(161, 26, 0, 16),
  v4(166, 8, 0, 18),
  [2_822_734_096n, 2_822_734_096n],
  v4(169, 254, 0, 16),
  v4(172, 16, 0, 20),
  v4(192, 0, 0, 8),
  v4(192, 0, 2, 8),
  v4(192, 31, 196, 8),
  v4(192, 52, 193, 8),
  v4(192, 88, 99, 8),
  v4(192, 168, 0, 16),
  v4(192, 175, 48, 8),
  v4(198, 18, 0, 17),
  v4(198, 51, 100, 8),
  v4(203, 0, 113, 8),
  v4(224, 0, 0, 28),
  v4(240, 0, 0, 28),
]

/** Prefixes with an IPv4 address in the last 32 bits. */
const FOLDED: readonly Range[] = [
  v6([], 96),
  v6([0, 0, 0, 0, 0, 0xffff], 96),
  v6([0, 0, 0, 0, 0xffff, 0], 96),
  v6([0x64, 0xff9b], 96),
  v6([0x64, 0xff9b, 1], 96),
]

const SPECIAL_V6: readonly Range[] = [
  [0n, v6([0x2000], 3)[0] - 1n],
  [v6([0x2000], 3)[1] + 1n, 2n ** 128n - 1n],
  v6([0x2001], 23),
  v6([0x2001, 0xdb8], 32),
  v6([0x2002], 16),
  v6([0x2620, 0x4f, 0x8000], 48),
  v6([0x3ffe], 16),
  v6([0x3fff], 20),
]

function within(ranges: readonly Range[], value: bigint): boolean {
  return ranges.some(([first, last]) => value >= first && value <= last)
}

/** Whether an IPv4 address is special. */
export function isSpecialV4(value: bigint): boolean {
  return within(SPECIAL_V4, value)
}

/** Whether an IPv6 address is special, or embeds an IPv4 one that is. */
export function isSpecialV6(value: bigint): boolean {
  return within(FOLDED, value) ? isSpecialV4(value % 2n ** 32n) : within(SPECIAL_V6, value)
}

function dotted(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value / 2n ** shift) % 256n).join('.')
}

function groupsOf(value: bigint): string[] {
  return Array.from({ length: 8 }, (_, at) => ((value / 2n ** BigInt(112 - 16 * at)) % 65_536n).toString(16))
}

/** An IPv4 address itself, and embedded in each IPv6 form, dotted and in hex. */
export function spellingsOfV4(value: bigint): string[] {
  const prefixes = ['::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1::', '::']
  const [high = '', low = ''] = groupsOf(value).slice(6)
  const plain = dotted(value)
  return [plain, ...prefixes.flatMap((prefix) => [`${prefix}${plain}`, `${prefix}${high}:${low}`])]
}

/** An IPv6 address in full, with zeros, in capitals, shortened at its first zeros, and with dotted end. */
export function spellingsOfV6(value: bigint): string[] {
  const groups = groupsOf(value)
  const full = groups.join(':')
  const zero = groups.indexOf('0')
  const zeros = zero < 0 ? 0 : groups.slice(zero).findIndex((group) => group !== '0')
  const until = zeros < 0 ? groups.length : zero + zeros
  const short = zero < 0 ? full : `${groups.slice(0, zero).join(':')}::${groups.slice(until).join(':')}`
  return [
    full,
    short,
    groups.map((group) => group.padStart(4, '0')).join(':'),
    full.toUpperCase(),
    `${groups.slice(0, 6).join(':')}:${dotted(value % 2n ** 32n)}`,
  ]
}
