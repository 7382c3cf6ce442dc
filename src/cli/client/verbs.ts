/**
 * Shared by `bridge tokens` and `bridge webhooks`: chooses the verb, sends API requests, reads paged lists.
 */
import { readFileSync } from 'node:fs'
import { didYouMean } from '../../core/near.ts'
import { BridgeError } from '../../errors.ts'
import type { CommandContext } from '../terminal/context.ts'
import type { RefusalWords } from './refusal.ts'
import { type ApiRequest, requestBridge } from './request.ts'
import { targetOf } from './target.ts'

/** The flags of every verb. */
export const requestFlags = {
  json: { type: 'boolean' },
  url: { type: 'string' },
  token: { type: 'string' },
} as const

/** Sends a request to the bridge that the flags name. Rejects as `requestBridge`. */
export type SendRequest = (request: Pick<ApiRequest, 'method' | 'path' | 'body'>) => Promise<unknown>

/** The implementation of a verb. */
export type Verb = (args: string[], context: CommandContext) => Promise<void>

/** Most entries of one page. */
const PAGE = 1000

/**
 * The verb of that name. `instead`: what to do for verbs that somebody may expect and that do not exist.
 * @throws BridgeError `usage` with the near match
 */
export function chosenVerb(
  noun: string,
  name: string | undefined,
  verbs: Readonly<Record<string, Verb>>,
  instead: Readonly<Record<string, string>> = {},
): Verb {
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
export function requesterOf(
  flags: { url?: string; token?: string },
  words: RefusalWords,
  context: CommandContext,
): SendRequest {
  const readFile = (path: string): string => readFileSync(path, 'utf8')
  const target = targetOf({ url: flags.url, token: flags.token }, context.env, readFile)
  return (request) => requestBridge({ ...request, target, words }, context)
}

/**
 * Yields every entry of a list, page by page; stops when the command is stopped or its output is closed. `path` may have a
 * query. `most`: upper limit of entries.
 */
export async function* entriesOf(
  send: SendRequest,
  path: string,
  context: CommandContext,
  most = PAGE,
): AsyncGenerator<unknown> {
  const start = `${path}${path.includes('?') ? '&' : '?'}limit=${Math.min(PAGE, most)}`
  let next: unknown = null
  do {
    const after: string = typeof next === 'string' ? `&after=${encodeURIComponent(next)}` : ''
    const page = (await send({ method: 'GET', path: `${start}${after}` })) as {
      data?: unknown
      next?: unknown
    } | null
    const data: unknown[] = Array.isArray(page?.data) ? page.data : []
    yield* data
    next = data.length === 0 ? null : (page?.next ?? null)
  } while (typeof next === 'string' && !context.signal.aborted && !context.outputGone.aborted)
}
