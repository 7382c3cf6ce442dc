/**
 * One request to a running bridge that is answered at once, for the commands that are clients of its HTTP API. Owns the
 * time limit and the reading of the answer. Refuses to try again.
 */
import { BridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { noAnswer, noBridge, type RefusalWords, refusalOf } from './refusal.ts'
import type { Target } from './target.ts'

const ANSWER_MS = 30_000

/** What is asked. */
export interface Question {
  target: Target
  method: 'GET' | 'POST' | 'DELETE'
  /** Path and query, e.g. `/v1/tokens?limit=10`. */
  path: string
  /** Sent as JSON; undefined = none. */
  body?: unknown
  /** What the command says of refusals that are its own. */
  words: RefusalWords
}

/**
 * The JSON of the answer, null where it has none.
 * @throws BridgeError for a refusal, and where nothing, or no bridge, answers
 */
export async function askBridge(
  { target, method, path, body, words }: Question,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<unknown> {
  const late = new AbortController()
  const cancel = clock.after(ANSWER_MS, () =>
    late.abort(new Error('no answer in time', { cause: { code: 'ETIMEDOUT' } })),
  )
  try {
    const response = await fetch(`${target.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${target.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal: AbortSignal.any([signal, late.signal]),
    })
    const text = await response.text()
    if (!response.ok) throw refusalOf(response.status, text, target, words)
    return text === '' ? null : parsed(text, target)
  } catch (error) {
    if (error instanceof BridgeError) throw error
    throw noAnswer(late.signal.aborted ? late.signal.reason : error, target)
  } finally {
    cancel()
  }
}

function parsed(text: string, target: Target): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw noBridge(target)
  }
}
