/**
 * Issues and checks tickets, with which a browser opens a stream, because it can set no header on a WebSocket or an
 * EventSource. A ticket names an API token, whose rights are looked up when the ticket is used. It opens a stream within 30
 * seconds. An EventSource reconnects with the same address, so its ticket also resumes, for twelve hours.
 */
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { HOUR_MS } from '../core/durations.ts'
import { type Caller, settingsCaller } from '../http/auth.ts'
import type { Clock } from '../lifecycle/clock.ts'

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

const FORM = 't1'
const PURPOSE = 'disclosure-bridge stream tickets 1'
const KEY_BYTES = 32
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
  /** `BRIDGE_SECRET_KEY`, which signs, and `BRIDGE_SECRET_KEY_OLD`, which is accepted too; null: there is none. */
  keys: { key: string; oldKey: string | null }
  clock: Clock
  mostUsed?: number
}

/** What a ticket has opened: one connection, or the connections of one EventSource. */
type TicketUse = 'connection' | 'event_source'

/** Issues and accepts tickets. */
export type Tickets = ReturnType<typeof createTickets>

/** Tickets of which none is used yet. */
export function createTickets({ keys, clock, mostUsed = MOST_USED }: TicketsOptions) {
  const present = signingKey(keys.key)
  const accepted = keys.oldKey === null ? [present] : [present, signingKey(keys.oldKey)]
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

  return {
    /** A ticket of the caller's token, and when it expires: with the token if that is sooner. */
    give({ tokenId, expiresAtMs: tokenEndMs }: Pick<Caller, 'tokenId' | 'expiresAtMs'>) {
      const expiresAtMs = Math.min(clock.now() + TICKET_LIFE_MS, tokenEndMs ?? Number.POSITIVE_INFINITY)
      const chance = randomBytes(CHANCE_BYTES).toString('base64url')
      const signed = [FORM, tokenId, expiresAtMs.toString(36), chance].join('.')
      return { ticket: `${signed}.${sign(signed, present).toString('base64url')}`, expiresAtMs }
    },
    /** The token of a ticket, which is used up by this; or why there is none. */
    take(ticket: string): { tokenId: string } | NoTicket {
      const facts = factsOf(ticket, accepted)
      if (facts === null) return 'unknown'
      const { chance, expiresAtMs, tokenId } = facts
      if (expiresAtMs <= clock.now()) return 'expired'
      if (used.get(tokenId)?.has(chance)) return 'used'
      return use(facts, 'connection') ?? { tokenId }
    },
    /**
     * The session of a ticket with which an EventSource begins, within the ticket's life, or resumes. No other connection
     * can be opened with the ticket from then on.
     */
    enter(ticket: string, isResumed: boolean): TicketSession | NoTicket {
      const facts = factsOf(ticket, accepted)
      if (facts === null) return 'unknown'
      const { chance: key, expiresAtMs, tokenId } = facts
      const endsMs = expiresAtMs + TICKET_RESUME_MS
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
}

/** The content of a ticket; null unless one of the keys has signed it. */
function factsOf(ticket: string, keys: readonly Uint8Array[]): TicketFacts | null {
  const end = ticket.lastIndexOf('.')
  const signed = ticket.slice(0, Math.max(0, end))
  const signature = Buffer.from(ticket.slice(end + 1), 'base64url')
  const isSigned = keys.some((key) => {
    const wanted = sign(signed, key)
    return signature.length === wanted.length && timingSafeEqual(signature, wanted)
  })
  const [form, tokenId = '', expiry = '', chance = ''] = signed.split('.')
  return isSigned && form === FORM ? { tokenId, expiresAtMs: Number.parseInt(expiry, 36), chance } : null
}

function sign(text: string, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function signingKey(secret: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', PURPOSE, KEY_BYTES))
}
