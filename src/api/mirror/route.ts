/**
 * Defines a route of the mirrored upstream API as data.
 */
import type { z } from 'zod'
import type { PlanName } from '../../core/plans.ts'
import type { Described } from '../../http/route.ts'
import type { MirrorAnswer } from './answer.ts'

/** Who asks, as far as the API cares. */
export interface MirrorCaller {
  plan: PlanName
}

/** One GET request below the base address. */
export interface MirrorRequest {
  /** Path below the base address and query, as they were sent. */
  target: string
  /** The query string as it was sent; repeated names stay repeated. */
  params: URLSearchParams
  /** The path segment in the place of `:name`, decoded. */
  segment(name: string): string
  /** Aborts when nobody waits for the answer any more. */
  gone: AbortSignal
}

/** One path of the API. Its answer may throw HttpProblem or BridgeError: they leave in upstream's error body. */
export type MirrorRoute = {
  /** Below the base address, with `:name` in the place of a variable segment. */
  path: string
  /** One line for the docs. */
  summary: string
  /** Query parameters with their meanings. */
  parameters: Readonly<Record<string, Described>>
  /** Of the body of a 200. */
  schema: z.ZodType
  /** Statuses of refusals with their meanings, where there are others than on every path. */
  refusals?: Readonly<Record<number, string>>
} & (
  | {
      key: 'required'
      answer(request: MirrorRequest, caller: MirrorCaller): MirrorAnswer | Promise<MirrorAnswer>
    }
  /** Open to everybody; a key is not looked at. */
  | { key: 'none'; answer(request: MirrorRequest): MirrorAnswer | Promise<MirrorAnswer> }
)
