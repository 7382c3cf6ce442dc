/**
 * What the noun-verb commands share as clients of a running bridge's HTTP API: choosing the verb, asking with the token of
 * the flags or settings, reading a list to its end. Refuses to know any noun.
 */
import { readFileSync } from 'node:fs'
import { didYouMean } from '../../core/near.ts'
import { BridgeError } from '../../errors.ts'
import type { CommandContext } from '../terminal/context.ts'
import { askBridge, type Question } from './ask.ts'
import type { RefusalWords } from './refusal.ts'
import { targetOf } from './target.ts'

/** The flags of every verb. */
export const askerFlags = {
  json: { type: 'boolean' },
  url: { type: 'string' },
  token: { type: 'string' },
} as const

/** Asks the bridge that the flags name. Rejects as `askBridge`. */
export type Ask = (question: Pick<Question, 'method' | 'path' | 'body'>) => Promise<unknown>

/** What a verb does. */
export type Verb = (args: string[], context: CommandContext) => Promise<void>

/** Most entries of one page. */
const PAGE = 1000

/**
 * The verb of that name.
 * @throws BridgeError `usage` with the near match
 */
export function chosenVerb(
  noun: string,
  name: string | undefined,
  verbs: Readonly<Record<string, Verb>>,
): Verb {
  const verb = name !== undefined && Object.hasOwn(verbs, name) ? verbs[name] : undefined
  if (verb !== undefined) return verb
  const names = Object.keys(verbs)
  const what =
    name === undefined ? 'which one' : `there is no bridge ${noun} ${name}${didYouMean(name, names)}`
  throw new BridgeError('usage', `${what}: ${names.join(', ')}`, {
    hint: `bridge ${noun} --help says what each does.`,
  })
}

/** Asks with these flags. @throws BridgeError as `targetOf` */
export function askerOf(
  flags: { url?: string; token?: string },
  words: RefusalWords,
  context: CommandContext,
): Ask {
  const readFile = (path: string): string => readFileSync(path, 'utf8')
  const target = targetOf({ url: flags.url, token: flags.token }, context.env, readFile)
  return (question) => askBridge({ ...question, target, words }, context)
}

/**
 * Every entry of a list, page by page; ends early where nobody waits for more. `path` may have a query. `most`: how many are
 * wanted at most.
 */
export async function* entriesOf(
  ask: Ask,
  path: string,
  context: CommandContext,
  most = PAGE,
): AsyncGenerator<unknown> {
  const start = `${path}${path.includes('?') ? '&' : '?'}limit=${Math.min(PAGE, most)}`
  let next: unknown = null
  do {
    const after: string = typeof next === 'string' ? `&after=${encodeURIComponent(next)}` : ''
    const page = (await ask({ method: 'GET', path: `${start}${after}` })) as {
      data?: unknown
      next?: unknown
    } | null
    const data: unknown[] = Array.isArray(page?.data) ? page.data : []
    yield* data
    next = data.length === 0 ? null : (page?.next ?? null)
  } while (typeof next === 'string' && !context.signal.aborted && !context.outputGone.aborted)
}
