/**
 * Tickets: a token's leave to open one stream within seconds, for browsers, which can set no header on a WebSocket. Owns
 * their form, the signature and that a ticket opens one stream on a node. A ticket names its token and nothing else of it:
 * what the token may do, and whether it still may, is looked up when the ticket is shown. Refuses to know HTTP, and to
 * derive keys for any other purpose.
 */
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Caller } from '../http/auth.ts'
import type { Clock } from '../lifecycle/clock.ts'

/** Life of a ticket (contract §6). */
export const TICKET_LIFE_MS = 30_000
/**
 * Most tickets that a node remembers as used: five times the default of BRIDGE_STREAM_MAX_CLIENTS inside one life. Each
 * takes about 100 bytes.
 */
const MOST_USED = 50_000
/** What has expired is forgotten at most this often. */
const FORGET_EVERY_MS = 1000

const FORM = 't1'
const PURPOSE = 'disclosure-bridge stream tickets 1'
const KEY_BYTES = 32
const CHANCE_BYTES = 16

/** Why a ticket opens nothing: not signed here, too old, shown before, or this node remembers as many as it can. */
export type NoTicket = 'unknown' | 'expired' | 'used' | 'full'

/** Gives and takes tickets. */
export interface Tickets {
  /** A ticket of the caller's token, and when it ends: with the token if that is sooner. */
  give(caller: Pick<Caller, 'tokenId' | 'expiresAtMs'>): { ticket: string; expiresAtMs: number }
  /** The token behind a ticket, which is used up by this; or why there is none. */
  take(ticket: string): { tokenId: string } | NoTicket
}

/** What the keys, the clock and, in tests, the bound are. */
export interface TicketsOptions {
  /** `BRIDGE_SECRET_KEY`, which signs, and `BRIDGE_SECRET_KEY_OLD`, which is good for checking; null: there is none. */
  keys: { key: string; oldKey: string | null }
  clock: Clock
  mostUsed?: number
}

/** Nothing is used yet. */
export function createTickets({ keys, clock, mostUsed = MOST_USED }: TicketsOptions): Tickets {
  const present = signingKey(keys.key)
  const accepted = keys.oldKey === null ? [present] : [present, signingKey(keys.oldKey)]
  /** The chance in each used ticket, and when that ticket expires. */
  const used = new Map<string, number>()
  let forgotMs = clock.now()

  const forgetExpired = (nowMs: number): void => {
    if (Math.abs(nowMs - forgotMs) < FORGET_EVERY_MS) return
    forgotMs = nowMs
    for (const [chance, expiresAtMs] of used) if (expiresAtMs <= nowMs) used.delete(chance)
  }

  return {
    give({ tokenId, expiresAtMs: tokenEndMs }) {
      const expiresAtMs = Math.min(clock.now() + TICKET_LIFE_MS, tokenEndMs ?? Number.POSITIVE_INFINITY)
      const chance = randomBytes(CHANCE_BYTES).toString('base64url')
      const said = [FORM, tokenId, expiresAtMs.toString(36), chance].join('.')
      return { ticket: `${said}.${sign(said, present).toString('base64url')}`, expiresAtMs }
    },
    take(ticket) {
      const nowMs = clock.now()
      const facts = factsOf(ticket, accepted)
      if (facts === null) return 'unknown'
      if (facts.expiresAtMs <= nowMs) return 'expired'
      if (used.has(facts.chance)) return 'used'
      forgetExpired(nowMs)
      if (used.size >= mostUsed) return 'full'
      used.set(facts.chance, facts.expiresAtMs)
      return { tokenId: facts.tokenId }
    },
  }
}

/** What a ticket says; null unless one of the keys has signed it. */
function factsOf(
  ticket: string,
  keys: readonly Uint8Array[],
): { tokenId: string; expiresAtMs: number; chance: string } | null {
  const end = ticket.lastIndexOf('.')
  const said = ticket.slice(0, Math.max(0, end))
  const signature = Buffer.from(ticket.slice(end + 1), 'base64url')
  const isSigned = keys.some((key) => {
    const wanted = sign(said, key)
    return signature.length === wanted.length && timingSafeEqual(signature, wanted)
  })
  const [form, tokenId = '', expiry = '', chance = ''] = said.split('.')
  return isSigned && form === FORM ? { tokenId, expiresAtMs: Number.parseInt(expiry, 36), chance } : null
}

function sign(said: string, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(said).digest()
}

function signingKey(secret: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', PURPOSE, KEY_BYTES))
}
