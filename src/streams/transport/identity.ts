/**
 * Who opened a WebSocket: the token of its header or of its first frame, or the token behind a ticket, judged as every
 * other path judges it. Owns how a refusal becomes an `error` and a close code. Refuses to keep tokens and tickets.
 */
import { type Authenticate, bearerToken, type Caller, callerOf, type FindCaller } from '../../http/auth.ts'
import { HttpProblem, type ProblemCode } from '../../http/problem.ts'
import { type NoTicket, TICKET_LIFE_MS, type Tickets } from '../../registry/tickets.ts'
import { type CloseCode, StreamRefusal } from './refusal.ts'

/** What a client shows: the `Authorization` header, the token of its first frame, or the ticket of its address. */
export type Shown = { header: string } | { token: string } | { ticket: string }

/** Who knows what is shown. */
export interface Credentials {
  authenticate: Authenticate
  findCaller: FindCaller
  tickets: Pick<Tickets, 'take'>
}

const SECONDS = TICKET_LIFE_MS / 1000
/** What is told of a ticket that opens nothing, and the close code. */
const ticketRefusals: Record<NoTicket, [detail: string, closeCode: CloseCode]> = {
  unknown: ['this ticket is not valid; POST /v1/tickets gives one', 4001],
  expired: [`this ticket has expired: it is good for ${SECONDS} s; get another`, 4001],
  used: ['this ticket was used before: it opens one connection; get another', 4001],
  full: [`too many tickets were used in the last ${SECONDS} s; get another later`, 4100],
}

/**
 * The caller behind what was shown. A ticket is used up by this, whatever comes of it.
 * @throws StreamRefusal 402, which closes with 4001, with 4003 where the token lacks the scope, with 4100 while this node
 * has not read the tokens yet
 */
export function identify(shown: Shown, credentials: Credentials): Caller {
  const { authenticate, findCaller } = credentials
  try {
    if ('ticket' in shown) return callerOf(tokenIdOf(shown.ticket, credentials), 'events:read', findCaller)
    const token = 'token' in shown ? shown.token : bearerToken(shown.header)
    return callerOf(token, 'events:read', authenticate)
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error
    throw new StreamRefusal(402, error.message, closeCodeOf(error.code))
  }
}

function tokenIdOf(ticket: string, { tickets }: Credentials): string {
  const taken = tickets.take(ticket)
  if (typeof taken === 'object') return taken.tokenId
  throw new StreamRefusal(402, ...ticketRefusals[taken])
}

function closeCodeOf(code: ProblemCode): CloseCode {
  if (code === 'unavailable') return 4100
  return code === 'forbidden' ? 4003 : 4001
}
