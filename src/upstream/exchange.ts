/**
 * Parses upstream's responses about stock exchanges: reads the MIC (market identifier code) of each exchange. Everything
 * else stays JSON text as upstream sent it, unknown members included (upstream specification §2.9 to §2.11).
 */
import { readPage } from './page.ts'
import { dataText } from './split-items.ts'

/** An entry of the list, or the detail of one exchange. */
export interface ExchangeReference {
  /** Operating MIC: one to twelve letters and digits. */
  mic: string
  /** The JSON text as upstream sent it, on one line. */
  text: string
}

/** One page of the list. */
export interface ExchangePage {
  /** In the order upstream sent them. */
  exchanges: ExchangeReference[]
  /** Entries without a valid MIC, or longer than 256 Ki characters. */
  unreadable: number
  /** Cursor of the next page; null at the end; undefined where the response has none. */
  nextCursor: string | null | undefined
}

/** A MIC is a path segment and a table key here, so other characters are rejected; those of ISO 10383 have four characters. */
const MIC = /^[A-Za-z0-9]{1,12}$/
/** Entries and details have some hundred to some thousand characters; a longer one is not a reference. */
const LONGEST_TEXT = 256 * 1024

type Result<T> = { ok: true; value: T } | { ok: false; reason: string }

/** The page in the body of a 200, or why it cannot be read. */
export function readExchangePage(body: string): Result<ExchangePage> {
  const read = readPage(body)
  if (!read.ok) return read
  const { items, nextCursor } = read.page
  const exchanges = items.flatMap(({ text, value }) => referenceIn(value, text) ?? [])
  return { ok: true, value: { exchanges, unreadable: items.length - exchanges.length, nextCursor } }
}

/** The exchange in the body of a 200, or why it cannot be read. Another exchange than that of `mic` is rejected. */
export function readExchange(body: string, mic: string): Result<ExchangeReference> {
  let answer: { data?: unknown } | null
  try {
    answer = JSON.parse(body)
  } catch {
    return { ok: false, reason: 'the body is not JSON' }
  }
  const reference = answer?.data === undefined ? null : referenceIn(answer.data, dataText(body) ?? '')
  if (reference === null) return { ok: false, reason: 'the answer has no exchange `data`' }
  if (reference.mic !== mic) return { ok: false, reason: `the answer is about ${reference.mic}` }
  return { ok: true, value: reference }
}

function referenceIn(value: unknown, text: string): ExchangeReference | null {
  const mic = (value as { mic?: unknown } | null)?.mic
  return typeof mic === 'string' && MIC.test(mic) && text.length <= LONGEST_TEXT ? { mic, text } : null
}
