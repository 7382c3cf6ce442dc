/**
 * Provides what `bridge tokens` and `bridge webhooks` share: choosing the subcommand, sending API requests, and
 * printing paged lists.
 */
import { didYouMean } from '../../core/near.ts'
import { BridgeError } from '../../errors.ts'
import type { CliCommand } from '../terminal/arguments.ts'
import type { CommandContext } from '../terminal/context.ts'
import { harmless } from '../terminal/text.ts'
import type { RefusalWords } from './refusal.ts'
import { type ApiRequest, requestBridge } from './request.ts'
import { type TargetFlags, targetOf } from './target.ts'

/** Sends a request to the bridge that the flags name. Rejects as `requestBridge`. */
export type SendRequest = (request: Pick<ApiRequest, 'method' | 'path' | 'body'>) => Promise<unknown>

/** Entries of one page. */
const PAGE = 1000

/**
 * The verb of that name. `instead`: what to do for verbs that somebody may expect and that do not exist.
 * @throws BridgeError `usage` with the near match
 */
export function chosenVerb(
  noun: string,
  name: string | undefined,
  verbs: Readonly<Record<string, CliCommand>>,
  instead: Readonly<Record<string, string>> = {},
): CliCommand {
  const verb = name !== undefined && Object.hasOwn(verbs, name) ? verbs[name] : undefined
  if (verb !== undefined) return verb
  const names = Object.keys(verbs)
  const advice = name !== undefined && Object.hasOwn(instead, name) ? instead[name] : undefined
  const what =
    name === undefined
      ? `bridge ${noun} needs a verb: ${names.join(', ')}`
      : advice === undefined
        ? `bridge ${noun} has no verb "${name}"${didYouMean(name, names)}; it has ${names.join(', ')}`
        : `bridge ${noun} has no verb "${name}"`
  throw new BridgeError('usage', what, {
    hint: advice ?? `bridge ${noun} --help explains each verb.`,
  })
}

/** Sends requests with these flags. @throws BridgeError as `targetOf` */
export function requesterOf(flags: TargetFlags, words: RefusalWords, context: CommandContext): SendRequest {
  const target = targetOf(flags, context.env)
  return (request) => requestBridge({ ...request, target, words }, context)
}

/** How the entries of a list are printed. */
export interface ListOutput {
  /** One line of JSON per entry, in place of `line`. */
  json: boolean | undefined
  line: (entry: ResponseFields) => string
  /** Printed on stderr for an empty list. */
  none: string
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
  { json, line, none, most = Number.POSITIVE_INFINITY }: ListOutput,
  { stdout, stderr, signal, outputGone }: CommandContext,
): Promise<void> {
  const start = `${path}${path.includes('?') ? '&' : '?'}limit=${Math.min(PAGE, most)}`
  let count = 0
  let after: string | null = ''
  while (after !== null && count < most && !signal.aborted && !outputGone.aborted) {
    const page = fieldsOf(await send({ method: 'GET', path: `${start}${after}` }))
    const entries: unknown[] = Array.isArray(page.data) ? page.data.slice(0, most - count) : []
    for (const entry of entries) stdout(json === true ? JSON.stringify(entry) : line(fieldsOf(entry)))
    count += entries.length
    const { next } = page
    after = typeof next === 'string' && entries.length > 0 ? `&after=${encodeURIComponent(next)}` : null
  }
  if (count === 0) stderr(none)
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
