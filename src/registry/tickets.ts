/**
 * Issues and checks tickets, with which a browser opens a stream, because it can set no header on a WebSocket or an
 * EventSource. A ticket names an API token, whose rights are looked up when the ticket is used. It opens a stream within 30
 * seconds. An EventSource reconnects with the same address, so its ticket also resumes, for twelve hours.
 */
import { randomBytes } from 'node:crypto'
import { HOUR_MS } from '../core/durations.ts'
import { type Caller, settingsCaller } from '../http/auth.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { createTokenSigner, type Signer, type SigningKeys } from './signer.ts'

/** Life of a ticket that has opened nothing. */
export const TICKET_LIFE_MS = 30_000
/** How long after that an EventSource may resume with its ticket. */
export const TICKET_RESUME_MS = 12 * HOUR_MS
/**
 * Most tickets that a node remembers as used: five times the default of BRIDGE_STREAM_MAX_CLIENTS inside one life. Each
 * takes about 100 bytes.
 */
const MOST_USED = 50_000
/** Share of these that one token may use, but for the token of the settings: five times the streams that it may have. */
const TOKEN_SHARE = 0.1

/** What tickets open: `form` begins their texts, `purpose` their keys are derived for. */
export interface TicketKind {
  form: string
  purpose: string
}

/** Tickets of streams. */
const OF_STREAMS: TicketKind = { form: 't1', purpose: 'disclosure-bridge stream tickets 1' }
const CHANCE_BYTES = 16

/** Why a ticket opens nothing: not signed here, too old, shown before, or this node remembers as many (of its token) as it can. */
export type NoTicket = 'unknown' | 'expired' | 'used' | 'token_full' | 'full'

/** A ticket of an EventSource. */
export interface TicketSession {
  tokenId: string
  /** Tells tickets apart; no secret of the token. */
  key: string
  /** When it resumes no longer, ms since 1970. */
  endsMs: number
}

/** Keys, clock and, in tests, the number of tickets remembered. */
export interface TicketsOptions {
  keys: SigningKeys
  /** `BRIDGE_ADMIN_TOKEN`: its tickets open nothing once it is changed. */
  adminToken: string | null
  clock: Clock
  /** By default those of streams. */
  kind?: TicketKind
  mostUsed?: number
}

/** What a ticket has opened: one connection, or the connections of one EventSource. */
type TicketUse = 'connection' | 'event_source'

/** Issues and accepts tickets. */
export type Tickets = ReturnType<typeof createTickets>

/** Tickets of which none is used yet. */
export function createTickets(options: TicketsOptions) {
  const { keys, adminToken, clock, kind = OF_STREAMS, mostUsed = MOST_USED } = options
  const signer = createTokenSigner(keys, kind.purpose, adminToken)
  const share = Math.max(1, Math.floor(mostUsed * TOKEN_SHARE))
  /** By token: the random part of each used ticket, when that ticket expires, and what it opened. */
  const used = new Map<string, Map<string, { expiresAtMs: number; by: TicketUse }>>()
  let count = 0
  const forgetExpired = (nowMs: number): void => {
    count = 0
    for (const [tokenId, own] of used) {
      for (const [chance, { expiresAtMs }] of own) if (expiresAtMs <= nowMs) own.delete(chance)
      if (own.size === 0) used.delete(tokenId)
      count += own.size
    }
  }
  /** Remembers the use of a ticket until it expires; null, or why it cannot. */
  const use = (
    { tokenId, chance, expiresAtMs }: TicketFacts,
    by: TicketUse,
  ): 'token_full' | 'full' | null => {
    const most = tokenId === settingsCaller.tokenId ? mostUsed : share
    if (count >= mostUsed || (used.get(tokenId)?.size ?? 0) >= most) forgetExpired(clock.now())
    const own = used.get(tokenId) ?? new Map()
    if (own.size >= most) return 'token_full'
    if (count >= mostUsed) return 'full'
    used.set(tokenId, own.set(chance, { expiresAtMs, by }))
    count += 1
    return null
  }

  /** What a ticket says that would open a connection now. */
  const unused = (ticket: string): TicketFacts | NoTicket => {
    const facts = factsOf(ticket, signer, kind)
    if (facts === null) return 'unknown'
    if (facts.expiresAtMs <= clock.now()) return 'expired'
    return used.get(facts.tokenId)?.has(facts.chance) ? 'used' : facts
  }

  return {
    /** A ticket of the caller's token, and when it expires: with the token or the caller's session if that is sooner. */
    give(
      { tokenId, expiresAtMs: tokenEndMs, session }: Pick<Caller, 'tokenId' | 'expiresAtMs' | 'session'>,
      lifeMs = TICKET_LIFE_MS,
    ) {
      const endMs = Math.min(
        tokenEndMs ?? Number.POSITIVE_INFINITY,
        session?.endsMs ?? Number.POSITIVE_INFINITY,
      )
      const expiresAtMs = Math.min(clock.now() + lifeMs, endMs)
      const chance = randomBytes(CHANCE_BYTES).toString('base64url')
      const parts = [kind.form, tokenId, expiresAtMs.toString(36), chance]
      if (session !== undefined) parts.push(session.endsMs.toString(36))
      return { ticket: signer.sign(parts), expiresAtMs }
    },
    /** The token of a ticket, which is used up by this; or why there is none. */
    take(ticket: string): { tokenId: string } | NoTicket {
      const facts = unused(ticket)
      return typeof facts === 'string' ? facts : (use(facts, 'connection') ?? { tokenId: facts.tokenId })
    },
    /** The same, and the ticket stays good. */
    peek(ticket: string): { tokenId: string } | NoTicket {
      const facts = unused(ticket)
      return typeof facts === 'string' ? facts : { tokenId: facts.tokenId }
    },
    /**
     * The session of a ticket with which an EventSource begins, within the ticket's life, or resumes. No other connection
     * can be opened with the ticket from then on.
     */
    enter(ticket: string, isResumed: boolean): TicketSession | NoTicket {
      const facts = factsOf(ticket, signer, kind)
      if (facts === null) return 'unknown'
      const { chance: key, expiresAtMs, tokenId, sessionEndMs } = facts
      const endsMs = Math.min(expiresAtMs + TICKET_RESUME_MS, sessionEndMs)
      const nowMs = clock.now()
      if (endsMs <= nowMs || (expiresAtMs <= nowMs && !isResumed)) return 'expired'
      const earlier = used.get(tokenId)?.get(key)?.by
      if (earlier === 'connection') return 'used'
      const isKnown = earlier === 'event_source' || expiresAtMs <= nowMs
      return (isKnown ? null : use(facts, 'event_source')) ?? { tokenId, key, endsMs }
    },
  }
}

/** The content of a ticket. */
interface TicketFacts {
  tokenId: string
  expiresAtMs: number
  /** The random part. */
  chance: string
  /** End of the browser's session that asked for it, ms since 1970; infinite where a token asked. */
  sessionEndMs: number
}

/** The content of a ticket; null unless it is signed and of this kind. */
function factsOf(ticket: string, signer: Signer, kind: TicketKind): TicketFacts | null {
  const [form, tokenId = '', expiry = '', chance = '', sessionEnd] = signer.read(ticket) ?? []
  if (form !== kind.form) return null
  const sessionEndMs = sessionEnd === undefined ? Number.POSITIVE_INFINITY : Number.parseInt(sessionEnd, 36)
  return { tokenId, expiresAtMs: Number.parseInt(expiry, 36), chance, sessionEndMs }
}
