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
  tickets: Pick<Tickets, 'take' | 'peek' | 'enter'>
}

const SECONDS = TICKET_LIFE_MS / 1000
/** The detail for an invalid ticket. */
const ticketRefusals: Record<NoTicket, string> = {
  unknown: 'this ticket is not valid; POST /v1/tickets gives one',
  expired: `this ticket has expired: it is valid for ${SECONDS} s; get another`,
  used: 'this ticket was used before: it opens one connection; get another',
  token_full: `this token used too many tickets in the last ${SECONDS} s; get another later`,
  full: `too many tickets were used in the last ${SECONDS} s; get another later`,
}

/**
 * The caller of a credential. A ticket is used up by this call, whether or not it succeeds.
 * @throws StreamRefusal 402, which closes with 4001; with 4003 if the token lacks the scope, and with 4100 while this node
 * has not loaded the tokens
 */
export function identify(presented: PresentedCredential, credentials: Credentials): Caller {
  try {
    return callerBy(presented, credentials, credentials.tickets.take)
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error
    throw new StreamRefusal(402, error.message, closeCodeOf(error.code))
  }
}

/**
 * Refuses a handshake whose credential opens nothing. A ticket stays good.
 * @throws HttpProblem `unauthorised`, `forbidden` or `unavailable`
 */
export function requireReader(presented: HandshakeCredential, credentials: Credentials): void {
  callerBy(presented, credentials, credentials.tickets.peek)
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
  if (typeof session === 'string') throw noTicket(session)
  return { session, caller: callerOf(session.tokenId, 'events:read', findCaller) }
}

function callerBy(
  presented: PresentedCredential,
  { authenticate, findCaller }: Credentials,
  read: Tickets['take'],
): Caller {
  if (!('ticket' in presented)) {
    const token = 'token' in presented ? presented.token : bearerToken(presented.header)
    return callerOf(token, 'events:read', authenticate)
  }
  const found = read(presented.ticket)
  if (typeof found === 'string') throw noTicket(found)
  return callerOf(found.tokenId, 'events:read', findCaller)
}

function noTicket(why: NoTicket): HttpProblem {
  const detail = ticketRefusals[why]
  if (why === 'full') return retryLater('over_capacity', detail)
  return why === 'token_full' ? retryLater('too_many', detail) : new HttpProblem('unauthorised', detail)
}

function closeCodeOf(code: ProblemCode): CloseCode {
  if (code === 'unauthorised') return 4001
  return code === 'forbidden' ? 4003 : 4100
}
