/**
 * Defines the data that describes one route of the mirrored upstream API: path, parameters, response schema and the
 * function that answers.
 */
import type { z } from 'zod'
import type { PlanName } from '../../core/plans.ts'
import type { Described } from '../../http/route.ts'

/** The caller of a request. */
export interface MirrorCaller {
  plan: PlanName
  /** The id of its token, where time is shared among callers. */
  id?: string
}

/** One GET request below the base address. */
export interface MirrorRequest {
  /** Path below the base address and query, as sent, without host and fragment. */
  target: string
  /** The query string as sent; repeated names stay repeated. */
  params: URLSearchParams
  /** The decoded path segment for `:name`. */
  segment(name: string): string
  /** Aborts when the client disconnects. */
  gone: AbortSignal
}

/**
 * One path of the API. `answer` gives the JSON text of a 200; MirrorRefusal, HttpProblem and BridgeError that it throws are
 * sent in the upstream's error body.
 */
export type MirrorRoute = {
  /** Path below the base address, with `:name` for a variable segment. */
  path: string
  /** One line for the docs. */
  summary: string
  /** Query parameters with their meanings. */
  parameters: Readonly<Record<string, Described>>
  /** Schema of the body of a 200. */
  schema: z.ZodType
  /** Statuses of refusals that only this path has, with their meanings. */
  refusals?: Readonly<Record<number, string>>
} & (
  | {
      key: 'required'
      answer(request: MirrorRequest, caller: MirrorCaller): string | Promise<string>
    }
  /** Public: a key is ignored. */
  | { key: 'none'; answer(request: MirrorRequest): string | Promise<string> }
)
