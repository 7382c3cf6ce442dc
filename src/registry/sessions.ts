/**
 * Issues and checks the sessions of browsers, and the single-use links that begin one. Both name an API token, whose rights
 * are looked up at each request, and are signed, so that every node accepts them and none stores them.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { HOUR_MS, MINUTE_MS } from '../core/durations.ts'
import {
  type Caller,
  type CallerSession,
  type FindCaller,
  type FindSession,
  type NoCaller,
  settingsCaller,
} from '../http/auth.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { cookieText, sessionText } from './session-cookie.ts'
import { createTokenSigner, type SigningKeys } from './signer.ts'
import { createTickets, type TicketKind } from './tickets.ts'

/** Longest life of a session, and of one of the token of the settings. */
export const SESSION_LIFE_MS = 12 * HOUR_MS
export const SETTINGS_SESSION_LIFE_MS = HOUR_MS
/** How long changes are allowed once a session is unlocked. */
export const UNLOCK_MS = 15 * MINUTE_MS
/** Life of a link where nothing else is asked for. */
export const LINK_LIFE_MS = MINUTE_MS
/** Sessions that a node remembers as ended by their browser. Each takes about 100 bytes. */
const MOST_ENDED = 10_000

const FORM = 's1'
const PURPOSE = 'disclosure-bridge console sessions 1'
const LINKS: TicketKind = { form: 'c1', purpose: 'disclosure-bridge console links 1' }
const ID_BYTES = 12

/** Keys, clock and, in tests, the number of ended sessions remembered. */
export interface SessionsOptions {
  keys: SigningKeys
  /** `BRIDGE_ADMIN_TOKEN`: its sessions and links end when it is changed. */
  adminToken: string | null
  findCaller: FindCaller
  clock: Clock
  mostEnded?: number
}

/** A session with the text of its cookie. */
export interface SignedSession extends CallerSession {
  text: string
}

/** Issues and accepts sessions and links. */
export type Sessions = ReturnType<typeof createSessions>

/** Sessions of which none has been ended yet. */
export function createSessions(options: SessionsOptions) {
  const { keys, adminToken, findCaller, clock, mostEnded = MOST_ENDED } = options
  const signer = createTokenSigner(keys, PURPOSE, adminToken)
  /** When each ended session would have ended by itself, by its id. */
  const ended = new Map<string, number>()
  const signed = (tokenId: string, session: CallerSession): SignedSession => {
    const { id, endsMs, unlockedUntilMs } = session
    const parts = [FORM, tokenId, id, endsMs.toString(36), (unlockedUntilMs ?? 0).toString(36)]
    return { ...session, text: signer.sign(parts) }
  }
  const find = (text: string): Caller | NoCaller => {
    const [form, tokenId = '', id = '', end = '', unlocked = ''] = signer.read(text) ?? []
    const [endsMs, untilMs] = [Number.parseInt(end, 36), Number.parseInt(unlocked, 36)]
    const nowMs = clock.now()
    if (form !== FORM || ended.has(id)) return 'unknown'
    if (endsMs <= nowMs) return 'expired'
    const caller = findCaller(tokenId)
    if (typeof caller === 'string') return caller
    return { ...caller, session: { id, endsMs, unlockedUntilMs: untilMs > nowMs ? untilMs : null } }
  }
  const findInRequest: FindSession = (request) => {
    const text = sessionText(request)
    return text === null ? null : find(text)
  }

  return {
    links: createTickets({ keys, adminToken, clock, kind: LINKS }),
    /** The caller of the text of a session's cookie. */
    find,
    /** The caller of the cookie of a request. */
    findInRequest,
    /** Whether the browser that sends a request has a session, or may have one that cannot be checked yet. It allows nothing: a navigation does not say whose page has led to it. */
    isSignedIn(request: IncomingMessage): boolean {
      const text = cookieText(request)
      const found = text === null ? 'unknown' : find(text)
      return typeof found !== 'string' || found === 'loading'
    },
    /** A session of the caller's token, which may only read. It ends with the token, if not before. */
    begin({ tokenId, expiresAtMs }: Pick<Caller, 'tokenId' | 'expiresAtMs'>): SignedSession {
      const lifeMs = tokenId === settingsCaller.tokenId ? SETTINGS_SESSION_LIFE_MS : SESSION_LIFE_MS
      const endsMs = Math.min(clock.now() + lifeMs, expiresAtMs ?? Number.POSITIVE_INFINITY)
      const id = randomBytes(ID_BYTES).toString('base64url')
      return signed(tokenId, { id, endsMs, unlockedUntilMs: null })
    },
    /** The same session with the right to change, for a quarter of an hour. */
    unlock(tokenId: string, { id, endsMs }: CallerSession): SignedSession {
      return signed(tokenId, { id, endsMs, unlockedUntilMs: Math.min(clock.now() + UNLOCK_MS, endsMs) })
    },
    /** Ends a session on this node. Others still accept a copy of its cookie until its end. */
    end({ id, endsMs }: CallerSession): void {
      const nowMs = clock.now()
      if (ended.size >= mostEnded) for (const [one, end] of ended) if (end <= nowMs) ended.delete(one)
      const [oldest] = ended.keys()
      if (ended.size >= mostEnded && oldest !== undefined) ended.delete(oldest)
      ended.set(id, endsMs)
    },
  }
}
