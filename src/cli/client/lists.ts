/** Sends the API requests of commands, and prints lists page by page, with a header over their columns. */
import { BridgeError } from '../../errors.ts'
import type { CommandContext } from '../terminal/context.ts'
import { londonTimeOf } from '../terminal/london-time.ts'
import { type Column, headerRow, tableRow } from '../terminal/table.ts'
import { harmless, painter } from '../terminal/text.ts'
import type { RefusalWords } from './refusal.ts'
import { type ApiRequest, requestBridge } from './request.ts'
import { type TargetFlags, targetOf } from './target.ts'

/** Sends a request to the bridge that the flags name. Rejects as `requestBridge`. */
export type SendRequest = (request: Pick<ApiRequest, 'method' | 'path' | 'body'>) => Promise<unknown>

/** Entries of one page. */
const PAGE = 1000

/** Sends requests with these flags. @throws BridgeError as `targetOf` */
export function requesterOf(flags: TargetFlags, words: RefusalWords, context: CommandContext): SendRequest {
  const target = targetOf(flags, context.env)
  return (request) => requestBridge({ ...request, target, words }, context)
}

/** How the entries of a list are printed. */
export interface ListOutput {
  /** One line of JSON per entry, in place of rows. */
  json: boolean | undefined
  columns: readonly Column<ResponseFields>[]
  /** Prints an entry as this line, safe to print and without a header, in place of a row. */
  line?: ((entry: ResponseFields) => string) | undefined
  /** Printed on stderr for an empty list. */
  none: string
  /** Printed on stderr after the list: what the last page says besides its entries; null for nothing. */
  foot?: (page: ResponseFields) => string | null
  /** Upper limit of entries; all where it is left out. */
  most?: number
}

/**
 * Prints the entries of a list, page by page, until the command is stopped or its output is closed. `path` may have a
 * query.
 */
export async function printList(
  send: SendRequest,
  path: string,
  { json, columns, line, none, foot, most = Number.POSITIVE_INFINITY }: ListOutput,
  { stdout, stderr, signal, outputGone, colour }: CommandContext,
): Promise<void> {
  const paint = painter(colour)
  const start = `${path}${path.includes('?') ? '&' : '?'}limit=${Math.min(PAGE, most)}`
  let count = 0
  let after: string | null = ''
  let note: string | null = null
  while (after !== null && count < most && !signal.aborted && !outputGone.aborted) {
    const page = fieldsOf(await send({ method: 'GET', path: `${start}${after}` }))
    const entries: unknown[] = Array.isArray(page.data) ? page.data.slice(0, most - count) : []
    const lineOf = json === true ? (entry: ResponseFields) => JSON.stringify(entry) : line
    if (lineOf === undefined && count === 0 && entries.length > 0) stdout(headerRow(columns, paint))
    for (const entry of entries.map(fieldsOf)) stdout(lineOf?.(entry) ?? tableRow(columns, entry, paint))
    count += entries.length
    note = foot?.(page) ?? null
    const { next } = page
    after = typeof next === 'string' && entries.length > 0 ? `&after=${encodeURIComponent(next)}` : null
  }
  if (count === 0) stderr(none)
  if (note !== null) stderr(note)
}

const DEFAULT_LIMIT = 100
const MOST = 1_000_000

/** The line of a list's help about its flag `--limit`. */
export const LIMIT_HELP = `  --limit N             only the newest N; default ${DEFAULT_LIMIT}`

/**
 * The upper limit of entries that `--limit` gives to that command.
 * @throws BridgeError `usage`
 */
export function limitOf(name: string, limit = DEFAULT_LIMIT.toString()): number {
  const count = /^\d{1,7}$/.test(limit) ? Number(limit) : 0
  if (count >= 1 && count <= MOST) return count
  throw new BridgeError('usage', `--limit must be a whole number from 1 to ${MOST}`, {
    hint: `bridge ${name} --help lists the flags.`,
  })
}

/** The members of a response. */
export type ResponseFields = Readonly<Record<string, unknown>>

/** A response's members; none where it is null. */
export function fieldsOf(value: unknown): ResponseFields {
  return (value ?? {}) as ResponseFields
}

/** A member of a response, safe to print: text as it is, nothing for null, anything else as JSON. */
export function printableText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return harmless(typeof value === 'string' ? value : JSON.stringify(value))
}

/** The column of that member, as `printableText` shows it. */
export function column(title: string, member: string, width?: number): Column<ResponseFields> {
  return { title, cell: (entry) => printableText(entry[member]), ...(width !== undefined && { width }) }
}

/** The column of a member that is a time, as London time. */
export function timeColumn(title: string, member: string): Column<ResponseFields> {
  return {
    title,
    width: TIME_WIDTH,
    cell: (entry) => londonTimeOf(entry[member]) ?? printableText(entry[member]),
  }
}

const TIME_WIDTH = '2026-07-07T07:00:01+01:00'.length
