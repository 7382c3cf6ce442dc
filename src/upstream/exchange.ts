/**
 * Exchange references of upstream, read tolerantly (specification §2.9 to §2.11). Owns which members are understood; the
 * text of each goes on as it came, unknown members included. Refuses an entry only where it has no usable MIC or no bounds.
 */
import { readPage } from './page.ts'
import { dataText } from './split-items.ts'

/** A member that is not there, or is no string, is null. */
export interface ListedExchange {
  /** Operating MIC: one to twelve letters and digits. */
  mic: string
  name: string | null
  /** ISO 3166 country code. */
  country: string | null
  city: string | null
  /** `ACTIVE`, `UPDATED`, `EXPIRED`, or what may be added. */
  status: string | null
  comments: string | null
  /** The JSON text as upstream sent it, on one line. */
  text: string
}

export interface ExchangeSegment {
  /** Segment MIC. */
  mic: string
  name: string | null
  status: string | null
}

/** One exchange in full. */
export interface ExchangeDetail extends ListedExchange {
  abbreviation: string | null
  website: string | null
  /** `YYYY-MM-DD`, as are the next two. */
  creationDate: string | null
  lastUpdateDate: string | null
  expiryDate: string | null
  /** Those with a usable MIC. */
  segments: ExchangeSegment[]
  /** Link to this resource, `_links.self`. */
  self: string | null
}

/** One page of the list. */
export interface ExchangePage {
  /** In the order upstream sent them. */
  exchanges: ListedExchange[]
  /** Entries without a usable MIC, or longer than 256 Ki characters. */
  unreadable: number
  /** Cursor of the next page; null at the end; undefined where the answer does not say. */
  nextCursor: string | null | undefined
}

/** A MIC is a path segment and a key here, so it may hold nothing else; ISO 10383 has four of these characters. */
const MIC = /^[A-Za-z0-9]{1,12}$/
/** Entries and details are some hundred characters to some thousand; what is longer than this is no reference. */
const LONGEST_TEXT = 256 * 1024

type Result<T> = { ok: true; value: T } | { ok: false; reason: string }

/** The page in the body of a 200, or why it is none. */
export function readExchangePage(body: string): Result<ExchangePage> {
  const read = readPage(body)
  if (!read.ok) return read
  const { items, nextCursor } = read.page
  const exchanges = items.flatMap(({ text, value }) => listedExchange(value, text) ?? [])
  return { ok: true, value: { exchanges, unreadable: items.length - exchanges.length, nextCursor } }
}

/** The exchange in the body of a 200, or why it is none. Another exchange than that of `mic` is none. */
export function readExchange(body: string, mic: string): Result<ExchangeDetail> {
  let answer: unknown
  try {
    answer = JSON.parse(body)
  } catch {
    return { ok: false, reason: 'the body is not JSON' }
  }
  const data = fieldsOf(fieldsOf(answer).data)
  const listed = micOf(data) === null ? null : listedExchange(data, dataText(body) ?? '')
  if (listed === null) return { ok: false, reason: 'the answer has no exchange `data`' }
  if (listed.mic !== mic) return { ok: false, reason: `the answer is about ${listed.mic}` }
  const detail: ExchangeDetail = {
    ...listed,
    abbreviation: textOf(data.abbreviation),
    website: textOf(data.website),
    creationDate: textOf(data.creationDate),
    lastUpdateDate: textOf(data.lastUpdateDate),
    expiryDate: textOf(data.expiryDate),
    segments: Array.isArray(data.segments)
      ? data.segments.flatMap((segment) => segmentOf(segment) ?? [])
      : [],
    self: textOf(fieldsOf(data._links).self),
  }
  return { ok: true, value: detail }
}

function listedExchange(value: unknown, text: string): ListedExchange | null {
  const fields = fieldsOf(value)
  const mic = micOf(fields)
  if (mic === null || text.length > LONGEST_TEXT) return null
  return {
    mic,
    name: textOf(fields.name),
    country: textOf(fields.country),
    city: textOf(fields.city),
    status: textOf(fields.status),
    comments: textOf(fields.comments),
    text,
  }
}

function segmentOf(value: unknown): ExchangeSegment | null {
  const fields = fieldsOf(value)
  const mic = micOf(fields)
  return mic === null ? null : { mic, name: textOf(fields.name), status: textOf(fields.status) }
}

function micOf({ mic }: Record<string, unknown>): string | null {
  return typeof mic === 'string' && MIC.test(mic) ? mic : null
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** The members of an object; none where it is something else. */
function fieldsOf(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {}
}
