/**
 * Parses upstream's responses about stock exchanges. Each keeps its JSON text as upstream sent it, unknown members included
 * (upstream specification §2.9 to §2.11).
 */
import { atOnce } from '../lifecycle/slices.ts'
import { readPage, readSingle } from './page.ts'
import {
  type Exchange,
  type ExchangeEntry,
  exchangeEntrySchema,
  exchangeSchema,
  type PagingFigures,
} from './schemas.ts'

/** An entry of the list, or the detail of one exchange. */
export interface ExchangeReference {
  /** Operating MIC: one to twelve letters and digits. */
  mic: string
  /** The JSON text as upstream sent it, on one line. */
  text: string
}

/** One page of the list, with the figures of its paging. */
export interface ExchangePage extends PagingFigures {
  /** In the order upstream sent them. */
  exchanges: (ExchangeReference & { value: ExchangeEntry })[]
  /** Entries without a valid MIC, or longer than 256 Ki characters. */
  unreadable: number
  /** Cursor of the next page; null at the end; undefined where the response has none. */
  nextCursor: string | null | undefined
}

/** Entries and details have some hundred to some thousand characters; a longer one is not a reference. */
const LONGEST_TEXT = 256 * 1024

type Result<T> = { ok: true; value: T } | { ok: false; reason: string }

/** Whether a text can be a MIC (market identifier code). */
export function isMic(text: string): boolean {
  return exchangeEntrySchema.shape.mic.safeParse(text).success
}

/** The page in the body of a 200, or why it cannot be read. */
export function readExchangePage(body: string): Result<ExchangePage> {
  const read = atOnce(readPage(body))
  if (!read.ok) return read
  const { items, nextCursor, latestCursor: _, hasMore: __, warnings: ___, ...figures } = read.value
  const exchanges = items.flatMap(({ text, value }) => {
    const entry = exchangeEntrySchema.safeParse(value)
    return entry.success && text.length <= LONGEST_TEXT
      ? { mic: entry.data.mic, text, value: entry.data }
      : []
  })
  return {
    ok: true,
    value: { exchanges, unreadable: items.length - exchanges.length, ...figures, nextCursor },
  }
}

/** The exchange in the body of a 200, or why it cannot be read. Another exchange than that of `mic` is rejected. */
export function readExchange(body: string, mic: string): Result<ExchangeReference & { value: Exchange }> {
  const read = readSingle(body)
  if (!read.ok) return read
  const { text, value } = read.value
  const exchange = exchangeSchema.safeParse(value)
  if (!exchange.success || text.length > LONGEST_TEXT) {
    return { ok: false, reason: 'the answer has no exchange `data`' }
  }
  if (exchange.data.mic !== mic) return { ok: false, reason: `the answer is about ${exchange.data.mic}` }
  return { ok: true, value: { mic, text, value: exchange.data } }
}
