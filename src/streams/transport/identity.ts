/**
 * Authenticates a WebSocket by the token of its header, the token of its first frame, or a ticket. A failure becomes an
 * `error` message and a close code.
 */
import { type Authenticate, bearerToken, type Caller, callerOf, type FindCaller } from '../../http/auth.ts'
import { HttpProblem, type ProblemCode, retryLater } from '../../http/problem.ts'
import { type NoTicket, TICKET_LIFE_MS, type TicketSession, type Tickets } from '../../registry/tickets.ts'
import { type CloseCode, StreamRefusal } from './refusal.ts'

/** The credential of a handshake: the `Authorization` header, or the ticket of the URL. */
export type HandshakeCredential = { header: string } | { ticket: string }

/** The credential of a client: that of the handshake, or the token of its first frame. */
export type PresentedCredential = HandshakeCredential | { token: string }

/** Checks credentials. */
export interface Credentials {
  authenticate: Authenticate
  findCaller: FindCaller
  tickets: Pick<Tickets, 'take' | 'enter'>
}

const SECONDS = TICKET_LIFE_MS / 1000
/** Detail and close code for an invalid ticket. */
const ticketRefusals: Record<NoTicket, [detail: string, closeCode: CloseCode]> = {
  unknown: ['this ticket is not valid; POST /v1/tickets gives one', 4001],
  expired: [`this ticket has expired: it is valid for ${SECONDS} s; get another`, 4001],
  used: ['this ticket was used before: it opens one connection; get another', 4001],
  token_full: [`this token used too many tickets in the last ${SECONDS} s; get another later`, 4100],
  full: [`too many tickets were used in the last ${SECONDS} s; get another later`, 4100],
}

/**
 * The caller of a credential. A ticket is used up by this call, whether or not it succeeds.
 * @throws StreamRefusal 402, which closes with 4001; with 4003 if the token lacks the scope, and with 4100 while this node
 * has not loaded the tokens
 */
export function identify(presented: PresentedCredential, credentials: Credentials): Caller {
  const { authenticate, findCaller } = credentials
  try {
    if ('ticket' in presented)
      return callerOf(tokenIdOf(presented.ticket, credentials), 'events:read', findCaller)
    const token = 'token' in presented ? presented.token : bearerToken(presented.header)
    return callerOf(token, 'events:read', authenticate)
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error
    throw new StreamRefusal(402, error.message, closeCodeOf(error.code))
  }
}

/**
 * The session and the caller of an EventSource's ticket.
 * @throws HttpProblem `unauthorised`, `forbidden`, `over_capacity` or `unavailable`
 */
export function enterWithTicket(
  ticket: string,
  isResumed: boolean,
  { tickets, findCaller }: Credentials,
): { session: TicketSession; caller: Caller } {
  const session = tickets.enter(ticket, isResumed)
  if (session === 'full') throw retryLater('over_capacity', ticketRefusals.full[0])
  if (session === 'token_full') throw retryLater('too_many', ticketRefusals.token_full[0])
  if (typeof session === 'string') throw new HttpProblem('unauthorised', ticketRefusals[session][0])
  return { session, caller: callerOf(session.tokenId, 'events:read', findCaller) }
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
