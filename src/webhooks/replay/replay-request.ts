/**
 * The body of `POST /v1/webhooks/{id}/replay`, read strictly. Owns its grammar: what is replayed and how that is said.
 * Refuses to know the log: what a cursor, a time or an id means there, `replay-window.ts` says.
 */
import { parseTimeBound } from '../../core/dates.ts'
import { isBridgeError } from '../../errors.ts'
import { type Members, openMembers } from '../../http/members.ts'
import type { Described } from '../../http/route.ts'

/** Largest body, bytes: a thousand ids are 60 KB. */
export const MAX_REPLAY_BODY_BYTES = 128 * 1024
/** Most ids of one replay. */
export const MOST_IDS = 1000
/** The longest id of an event is that of a gap or a revision; more is none. */
const LONGEST_ID = 512
/** A time this far ahead may be a clock that differs; what is further ahead is a mistake. */
const CLOCK_MARGIN_MS = 60_000

/** Its members with their meanings, for the docs. */
export const replayMembers = {
  after: { meaning: 'Cursor after which the window begins.', schema: { type: 'string' } },
  since: {
    meaning: 'Or the time from which on it begins; before everything that is kept: all that is kept.',
    schema: { type: 'string' },
  },
  ids: {
    meaning: `Or ids of 1–${MOST_IDS} disclosures: these alone, also where the filter leaves them out.`,
    schema: {
      type: 'array',
      items: { type: 'string', maxLength: LONGEST_ID },
      minItems: 1,
      maxItems: MOST_IDS,
    },
  },
  until: {
    meaning:
      'Cursor at which the window ends, or the last time of it (`2027-01-31`: with that whole day); default: now.',
    schema: { type: 'string' },
  },
  dead: {
    meaning: 'true: only those deliveries of the window that are dead.',
    schema: { type: 'boolean', default: false },
  },
  dryRun: { meaning: 'true: counts, and begins nothing.', schema: { type: 'boolean', default: false } },
} as const satisfies Record<string, Described>

/** A place in the log as a body names it. */
export type Place = { kind: 'cursor'; text: string } | { kind: 'time'; ms: number }

/** What a body asks for. */
export interface ReplayRequest {
  /** Where the window begins, or the events themselves. */
  from: Place | { kind: 'ids'; ids: readonly string[] }
  /** null: now. A time: the last millisecond that belongs to it. */
  until: Place | null
  onlyDead: boolean
  dryRun: boolean
}

/**
 * What the body asks for.
 * @throws HttpProblem `body_invalid` naming everything that is wrong
 */
export function readReplay(body: unknown, nowMs: number): ReplayRequest {
  const members = openMembers(body, Object.keys(replayMembers))
  const from = readFrom(members, nowMs)
  const until = readUntil(members)
  const onlyDead = readFlag(members, 'dead')
  const dryRun = readFlag(members, 'dryRun')
  if (from.kind === 'ids') {
    if (until !== null) members.refuse('until', 'does not go with `ids`')
    if (onlyDead) members.refuse('dead', 'does not go with `ids`')
  }
  if (from.kind === 'time' && until?.kind === 'time' && until.ms < from.ms) {
    members.refuse('until', 'is before `since`')
  }
  members.check()
  return { from, until, onlyDead, dryRun }
}

const starts = ['after', 'since', 'ids'] as const

function readFrom(members: Members, nowMs: number): ReplayRequest['from'] {
  const [first, ...more] = starts.filter((name) => members.optional(name) !== undefined)
  for (const name of more)
    members.refuse(name, `does not go with \`${first}\`: give one of ${starts.join(', ')}`)
  if (first === 'ids') return { kind: 'ids', ids: readIds(members) }
  if (first === 'since') {
    const ms = readTime(members, 'since', members.optional('since'))?.fromMs ?? 0
    if (ms > nowMs + CLOCK_MARGIN_MS) members.refuse('since', 'is in the future')
    return { kind: 'time', ms }
  }
  const text = members.optional('after')
  if (first === undefined) members.refuse('after', `is missing: give one of ${starts.join(', ')}`)
  else if (typeof text !== 'string' || text === '')
    members.refuse('after', 'must be a cursor as an event has it')
  return { kind: 'cursor', text: String(text) }
}

function readIds(members: Members): string[] {
  const given = members.optional('ids')
  if (!Array.isArray(given) || given.length === 0 || given.length > MOST_IDS) {
    members.refuse('ids', `must be a list of 1 to ${MOST_IDS} ids of events`)
    return []
  }
  for (const [at, id] of given.entries()) {
    if (typeof id !== 'string' || id === '' || id.length > LONGEST_ID) {
      members.refuse(`ids[${at}]`, 'must be the id of an event')
    }
  }
  return given.map(String)
}

function readUntil(members: Members): Place | null {
  const text = members.optional('until')
  if (text === undefined) return null
  // No cursor begins with a digit: its first byte is the number of its form.
  if (typeof text === 'string' && /^[^\d]/.test(text)) return { kind: 'cursor', text }
  return { kind: 'time', ms: readTime(members, 'until', text)?.toMs ?? Number.MAX_SAFE_INTEGER }
}

function readTime(members: Members, name: string, text: unknown): { fromMs: number; toMs: number } | null {
  try {
    if (typeof text === 'string') return parseTimeBound(text)
    members.refuse(name, 'must be a time such as 2027-01-31T12:00:00Z')
  } catch (error) {
    if (!isBridgeError(error, 'date_invalid')) throw error
    members.refuse(name, `is no time. ${error.hint ?? ''}`)
  }
  return null
}

function readFlag(members: Members, name: string): boolean {
  const value = members.optional(name)
  if (value !== undefined && typeof value !== 'boolean') members.refuse(name, 'must be true or false')
  return value === true
}
