/**
 * Counts the requests of clients of the sandbox: all, those refused by reason, and responses with an injected fault. Tests
 * check with it that a client keeps to quota and protocol.
 */
import { type Violation, violations } from '../api/mirror/refusal.ts'
import { faultKinds } from './faults/fault-kinds.ts'

/** Refusals that no correct client causes; a missing item or a refused old cursor is no violation. */
const protocolViolations = [
  'two_paging_modes',
  'page_size_above_plan',
  'page_cursor_of_other_query',
  'parameter_invalid',
  'method_not_allowed',
] as const satisfies readonly Violation[]

/** Counts since the start, all of them zero. */
export function createCounts() {
  return {
    /** Every request to the upstream address, with or without a key. */
    requests: 0,
    /** Real 429s of the token bucket; injected ones are in `faults`. */
    throttled: 0,
    /** Real 429s of the weekly quota. */
    quotaRefused: 0,
    /** Requests that the API itself refused, by reason. */
    refused: zeros(violations),
    /** Faults injected into responses, by kind. */
    faults: zeros(faultKinds),
  }
}

/** Counts since the start. */
export type Counts = ReturnType<typeof createCounts>

/** A copy of the counts with figures that follow from them. */
export interface Usage extends Counts {
  /** Quota units of the last seven days. */
  units: number
  unauthorised: number
  /** Sum of `refused` over the violations that no correct client causes. */
  violations: number
}

/** Copies the counts; `units` comes from the limits. */
export function usageOf({ refused, faults, ...counts }: Counts, units: number): Usage {
  return {
    ...counts,
    units,
    unauthorised: refused.unauthorised,
    violations: protocolViolations.reduce((sum, violation) => sum + refused[violation], 0),
    refused: { ...refused },
    faults: { ...faults },
  }
}

function zeros<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
}
