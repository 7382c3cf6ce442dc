/**
 * Parses the text of one setting: lists, numbers, durations, addresses, networks. An error message says what to write, and
 * never repeats the value, which could be a secret in the wrong place.
 */
import { isIP } from 'node:net'
import { z } from 'zod'
import { parseDuration } from '../core/durations.ts'
import { didYouMean } from '../core/near.ts'
import type { QuotaReset } from '../governor/quota/ledger.ts'

/** The result of a parser: the value, or what to write instead. */
type Reading<T> = { value: T } | { wrong: string }

/** A zod schema from text to value. */
function fromText<T>(read: (text: string) => Reading<T>) {
  return z.string().transform((text, context): T => {
    const reading = read(text)
    if ('value' in reading) return reading.value
    context.addIssue({ code: 'custom', message: reading.wrong })
    return z.NEVER
  })
}

/** Any text. */
export const textField = z.string()

/** Text that fits the pattern; `rule` completes "must be …". */
export function patternField(pattern: RegExp, rule: string) {
  return z.string().regex(pattern, `must be ${rule}`)
}

/** Exactly one of the words. */
export function wordField<const W extends string>(words: readonly W[]) {
  return fromText<W>((text) => {
    const word = words.find((candidate) => candidate === text)
    return word === undefined
      ? { wrong: `must be one of ${words.join(', ')}${didYouMean(text, words)}` }
      : { value: word }
  })
}

/** `true` or `false`. */
export const booleanField = wordField(['true', 'false']).transform((word) => word === 'true')

/** A whole number in the range, both ends included. */
export function integerField(low: number, high: number) {
  return fromText((text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return value >= low && value <= high
      ? { value }
      : { wrong: `must be a whole number from ${low} to ${high}` }
  })
}

/** A number above zero and up to `high`, decimals allowed. */
export function positiveField(high: number) {
  return fromText((text) => {
    const value = /^\d{1,9}(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN
    return value > 0 && value <= high ? { value } : { wrong: `must be a number above 0 and at most ${high}` }
  })
}

/** An ISO 8601 duration, as milliseconds. */
export const durationField = fromText((text) => {
  const durationMs = parseDuration(text)
  return durationMs === null
    ? { wrong: 'must be an ISO 8601 duration such as PT30S, P1D or P1Y' }
    : { value: durationMs }
})

/** A TCP port; 0 picks a free one. */
export const portField = integerField(0, 65_535)

/** A host name or IP literal to listen on. */
export const hostField = fromText((text) =>
  isIP(text) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(text)
    ? { value: text }
    : { wrong: 'must be a host name or an IP address without port, such as 127.0.0.1' },
)

/** Splits a comma list; trims members and drops empty ones. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '')
}

/** Comma list of members that each pass `fits`; `rule` completes "each must be …". */
export function listField(fits: (member: string) => boolean, rule: string) {
  return fromText((text) => {
    const members = splitList(text)
    return members.length > 0 && members.every(fits)
      ? { value: members }
      : { wrong: `must be a comma list; each member must be ${rule}` }
  })
}

/** The address of the upstream API: http or https, ending in `/v2`, without credentials, query or fragment. */
export const upstreamUrlField = fromText((text) => {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return { wrong: 'must be an http or https address ending in /v2, such as https://host/v2' }
  }
  if (url.username !== '' || url.password !== '') {
    return { wrong: 'must not contain credentials; set BRIDGE_UPSTREAM_KEY instead' }
  }
  const path = url.pathname.replace(/\/$/, '')
  if (!path.endsWith('/v2') || url.search !== '' || url.hash !== '') {
    return { wrong: 'must end in /v2, without query or fragment' }
  }
  return { value: `${url.origin}${path}` }
})

/** An http or https address of a receiver of OTLP, without a slash at its end. */
export const otlpUrlField = fromText((text) => {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return { wrong: 'must be an http or https address, such as http://collector.example:4318' }
  }
  if (url.username !== '' || url.password !== '') {
    return { wrong: 'must not contain credentials; set OTEL_EXPORTER_OTLP_HEADERS instead' }
  }
  if (url.search !== '' || url.hash !== '') return { wrong: 'must have no query and no fragment' }
  return { value: `${url.origin}${url.pathname.replace(/\/$/, '')}` }
})

/** Headers as OpenTelemetry writes them: `name=value,name=value`, values percent-encoded where they must be. */
export const otlpHeadersField = fromText((text) => {
  const headers: Record<string, string> = {}
  for (const member of splitList(text)) {
    const [, name, coded = ''] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*(.*)$/.exec(member) ?? []
    const value = decodedOrNull(coded)
    if (name === undefined || value === null || !/^[\x20-\x7e]*$/.test(value)) {
      return { wrong: 'must be a comma list of name=value, values percent-encoded, such as api-key=a%20key' }
    }
    headers[name] = value
  }
  return { value: headers }
})

function decodedOrNull(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** A share from 0 to 1, both included. */
export const shareField = fromText((text) => {
  const value = /^\d(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN
  return value <= 1 ? { value } : { wrong: 'must be a number from 0 to 1' }
})

/** An http or https address of a proxy, with user and password where it needs them. */
export const proxyField = fromText((text) => {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return { wrong: 'must be an http or https address' }
  return /%(?![0-9a-f]{2})/i.test(`${url.username}${url.password}`)
    ? { wrong: 'must write a % in user or password as %25' }
    : { value: text }
})

/** True for an exact browser origin, e.g. `https://desk.example`. */
export function isOrigin(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text
}

/** True for `host:port`. No IPv6 literals: kafkajs 2.2.4 takes the first colon for the port's. */
export function isBroker(text: string): boolean {
  const match = /^[A-Za-z0-9_.-]+:(\d{1,5})$/.exec(text)
  return match !== null && Number(match[1]) >= 1 && Number(match[1]) <= 65_535
}

/** True for a TCP port that can be connected to. */
export function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
}

const WEEKDAYS = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN']
const DAY_MINUTES = 24 * 60

/** `rolling`, or a time of the week such as `MON 00:00Z`. */
export const quotaResetField = fromText<QuotaReset>((text) => {
  if (text === 'rolling') return { value: 'rolling' }
  const match = /^([A-Z]{3}) ([01]\d|2[0-3]):([0-5]\d)Z$/.exec(text)
  const weekday = WEEKDAYS.indexOf(match?.[1] ?? '')
  if (match === null || weekday < 0) {
    return { wrong: 'must be "rolling" or a UTC time of the week such as "MON 00:00Z"' }
  }
  return {
    value: { minutesAfterMonday: weekday * DAY_MINUTES + Number(match[2]) * 60 + Number(match[3]) },
  }
})
