/**
 * Who opened a WebSocket: the token of its header or of its first frame, judged as every other path judges it. Owns how
 * a refusal becomes an `error` and a close code. Refuses to keep tokens.
 */
import { type Authenticate, bearerToken, type Caller, callerOf } from '../http/auth.ts'
import { HttpProblem } from '../http/problem.ts'
import { StreamRefusal } from './refusal.ts'

/** A caller with the token that it showed. */
export interface Identity {
  caller: Caller
  token: string
}

/** @throws StreamRefusal 402, which closes with 4001, or 4003 where the token lacks the scope */
export async function identify(
  shown: { header: string } | { token: string },
  authenticate: Authenticate,
): Promise<Identity> {
  try {
    const token = 'token' in shown ? shown.token : bearerToken(shown.header)
    return { token, caller: await callerOf(token, 'events:read', authenticate) }
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error
    throw new StreamRefusal(402, error.message, error.code === 'forbidden' ? 4003 : 4001)
  }
}
