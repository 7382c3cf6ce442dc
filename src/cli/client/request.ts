/**
 * Sends one request to a running bridge's HTTP API and parses the JSON response. A failed request is not retried.
 */
import { BridgeError } from '../../errors.ts'
import { noAnswer, noBridge, type RefusalWords, responseError } from './refusal.ts'
import type { BridgeTarget } from './target.ts'

const TIMEOUT_MS = 30_000

/** One request. */
export interface ApiRequest {
  target: BridgeTarget
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path and query, e.g. `/v1/tokens?limit=10`. */
  path: string
  /** Sent as JSON; undefined = none. */
  body?: unknown
  /** The command's own texts for refusals. */
  words: RefusalWords
}

/**
 * The JSON of the response, null where it has no body.
 * @throws BridgeError for a refusal, and where nothing answers or something else than a bridge
 */
export async function requestBridge(
  { target, method, path, body, words }: ApiRequest,
  { signal }: { signal: AbortSignal },
): Promise<unknown> {
  try {
    const response = await fetch(`${target.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${target.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    const text = await response.text()
    if (!response.ok) throw responseError(response.status, text, target, words)
    return text === '' ? null : parsed(text, target)
  } catch (error) {
    if (error instanceof BridgeError) throw error
    throw noAnswer(error, target)
  }
}

function parsed(text: string, target: BridgeTarget): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw noBridge(target)
  }
}
