/**
 * Who opened a WebSocket: the token of its header or of its first frame, judged as every other path judges it. Owns how
 * a refusal becomes an `error` and a close code. Refuses to keep tokens.
 */
import { type Authenticate, bearerToken, type Caller, callerOf } from '../http/auth.ts'
import { HttpProblem, type ProblemCode } from '../http/problem.ts'
import { type CloseCode, StreamRefusal } from './refusal.ts'

/**
 * The caller behind what was shown.
 * @throws StreamRefusal 402, which closes with 4001, with 4003 where the token lacks the scope, with 4100 while this node
 * has not read the tokens yet
 */
export function identify(shown: { header: string } | { token: string }, authenticate: Authenticate): Caller {
  try {
    const token = 'token' in shown ? shown.token : bearerToken(shown.header)
    return callerOf(token, 'events:read', authenticate)
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error
    throw new StreamRefusal(402, error.message, closeCodeOf(error.code))
  }
}

function closeCodeOf(code: ProblemCode): CloseCode {
  if (code === 'unavailable') return 4100
  return code === 'forbidden' ? 4003 : 4001
}
