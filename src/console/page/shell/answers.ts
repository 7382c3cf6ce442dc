/**
 * Lists the requests of the page with the types of their answers, as far as the page reads them. `test/console/answers.test.ts`
 * compares them with the bridge's own schemas.
 */
import type { DisclosureEvent, Filter, GapEvent } from '../../../../clients/typescript/src/messages.ts'
import type { ManagingAnswers } from '../parts/managing-answers.ts'
import type { ReadingAnswers } from '../parts/reading-answers.ts'
import type { TokenScope } from '../parts/token-scope.ts'

/** Who is signed in. */
export interface MeAnswer {
  tenant: string
  tokenId: string
  name: string | null
  /** What the caller may do now: a session has those for reading only until changes are unlocked. */
  scopes: readonly TokenScope[]
  /** End of the token, ISO 8601. */
  expiresAt: string | null
  /** Absent where a token is shown in the place of a cookie. */
  session?: {
    expiresAt: string
    /** null: it may only read. */
    unlockedUntil: string | null
    /** What the token may do: all of it may be read, and be changed once it is unlocked. */
    tokenScopes: readonly TokenScope[]
  }
}

/** An open gap. */
export interface OpenGapAnswer {
  id: string
  from: string
  to: string
  cause: string
  openedAt: string
  found: number
  closedAt: string | null
}

/** `GET /v1/status`; what the node does not know is null. */
export interface StatusAnswer {
  leader: { id: string | null; since: string | null; self: boolean }
  upstream: {
    state: 'ok' | 'throttled' | 'quota' | 'unauthorised' | 'failing' | 'waiting' | null
    lastGoodPoll: string | null
    nextPoll: string | null
    phase: 'closed' | 'pre' | 'burst' | 'open' | 'late'
    /** Upstream's clock minus the bridge's, ms. */
    aheadMs: number | null
  }
  /** Absent from builds before this one. Who and why only the operator sees. */
  polling?: { paused: boolean | null; since: string | null; by: string | null; reason: string | null }
  quota: {
    limit: number | null
    used: number | null
    remaining: number | null
    reset: string | null
    forecast: number | null
    drift: number | null
  }
  /** `oldest` and `latest` are null until the node has heard of the log. */
  log: {
    kind: 'kafka' | 'embedded' | 'memory'
    epoch: string | null
    oldest: number | null
    latest: number | null
  }
  copy: { sequence: number; lagEvents: number | null; lagSeconds: number | null; filled: number }
  completeness: 'polls+fills' | '+sweeps' | '+day' | null
  unreconciled: readonly { from: string; to: string }[] | null
  gaps: readonly OpenGapAnswer[] | null
  roles: readonly string[]
  asOf: string | null
}

/** A page of events. */
export interface PageAnswer {
  data: readonly (DisclosureEvent | GapEvent)[]
  cursor: string
  more: boolean
}

/** `POST /v1/filters/test`. */
export interface FilterTrialAnswer {
  tested: number
  matched: number
  gaps: number
  filter: Filter
  from: string
  to: string
}

/** A category code that filters take. */
export interface CategoryAnswer {
  kind: 'fca' | 'native'
  code: string
  name: string | null
  importance: string | null
  /** Events kept that have it. */
  seen: number
}

/** `GET /v1/categories`. */
export interface CategoriesAnswer {
  data: readonly CategoryAnswer[]
  presets: readonly {
    name: string
    meaning: string
    keeps: 'only' | 'without'
    fcaCategories: readonly string[]
  }[]
}

/** `GET /v1/issuers`. */
export interface IssuersAnswer {
  data: readonly {
    name: string | null
    symbol: string | null
    isin: string | null
    lei: string | null
    matchedBy: string
    matched: string
  }[]
}

/** A page of `GET /v1/nodes`. */
export interface NodesAnswer {
  data: readonly {
    id: string
    self: boolean
    state: 'up' | 'stopped' | 'gone'
    leads: boolean | null
    roles: readonly string[]
    version: string
    startedAt: string
    lastSeen: string
    copy: { sequence: number; lagEvents: number; lagSeconds: number; filled: number }
  }[]
  next: string | null
  asOf: string | null
}

/** Each request of the page, and its answer. */
export interface Answers extends ReadingAnswers, ManagingAnswers {
  'GET /v1/me': MeAnswer
  'GET /v1/status': StatusAnswer
  'GET /v1/nodes': NodesAnswer
  'GET /v1/disclosures': PageAnswer
  'GET /v1/categories': CategoriesAnswer
  'GET /v1/issuers': IssuersAnswer
  'POST /v1/filters/test': FilterTrialAnswer
  'POST /v1/tickets': { ticket: string; expiresAt: string }
  'POST /v1/sessions': MeAnswer
  'POST /v1/sessions/current/unlock': MeAnswer
  'DELETE /v1/sessions/current': unknown
}

/** A method and a path, whose variable parts are in braces. */
export type Call = keyof Answers
