/**
 * The shape of `GET /v1/status` (contract §6). Owns nothing else: whoever composes the product fills it.
 */
import type { Phase } from '../../core/calendar/calendar.ts'
import type { Gap } from '../../core/event.ts'
import type { Completeness } from '../../governor/schedule/completeness.ts'

/** What the upstream last did: `waiting` before the first request, and on a node that does not poll. */
export type UpstreamState = 'ok' | 'throttled' | 'quota' | 'unauthorised' | 'failing' | 'waiting'

/** The whole state of this node, as far as an outsider may see it. Times are ISO 8601. */
export interface Status {
  /** Who polls; `id` and `since` are null while nobody does. */
  leader: { id: string | null; since: string | null; self: boolean }
  /** `nextPoll` = when the next poll is due; null where this node does not poll. */
  upstream: { state: UpstreamState; lastGoodPoll: string | null; nextPoll: string | null; phase: Phase }
  /** In units. `reset` = when units come back; `forecast` = planned use over what is left. */
  quota: {
    limit: number | null
    used: number | null
    remaining: number | null
    reset: string | null
    forecast: number | null
    /** What upstream reports as used minus our count, over `limit`; null where it reports nothing. */
    drift: number | null
  }
  log: { kind: 'kafka' | 'embedded' | 'memory'; epoch: string | null; oldest: number; latest: number }
  /** `filled`: how much of the log is here, from 0 to 1; below 1 only while a new node or a rebuilt copy is filled. */
  copy: { sequence: number; lagEvents: number; lagSeconds: number; filled: number }
  /** What the plan pays for: polls with their fills, sweeps too, the whole day too. */
  completeness: Completeness
  /** Gaps that are open. */
  gaps: readonly Gap[]
  roles: readonly string[]
}
