/**
 * Counts a client's requests, refusals and faults, so that tests can check quota use and protocol violations.
 */
import { type Violation, violations } from '../api/mirror/refusal.ts'
import { type FaultKind, faultKinds } from './faults/faults.ts'

/** Refusals that no correct client causes; a missing item or a refused old cursor is no violation. */
const protocolViolations = [
  'two_paging_modes',
  'page_size_above_plan',
  'page_cursor_of_other_query',
  'parameter_invalid',
  'method_not_allowed',
] as const satisfies readonly Violation[]

/** Counts since the start. */
export interface Usage {
  /** Every request to the upstream address, with or without a key. */
  requests: number
  /** Quota units of the last seven days. */
  units: number
  /** Real 429s of the token bucket; injected ones are in `faults`. */
  throttled: number
  /** Real 429s of the weekly quota. */
  quotaRefused: number
  unauthorised: number
  /** Sum of `refused` over the violations that no correct client causes. */
  violations: number
  /** Requests that the API itself refused, by reason. */
  refused: Record<Violation, number>
  /** Faults injected into responses, by kind. */
  faults: Record<FaultKind, number>
}

export interface UsageCount {
  request(): void
  throttled(): void
  quotaRefused(): void
  refused(violation: Violation): void
  fault(kind: FaultKind): void
  /** Returns a copy of the counts; `units` comes from the limits. */
  read(units: number): Usage
}

/** Creates counters at zero. */
export function createUsage(): UsageCount {
  const counts = { requests: 0, throttled: 0, quotaRefused: 0 }
  const refused = zeros(violations)
  const faults = zeros(faultKinds)
  return {
    request() {
      counts.requests += 1
    },
    throttled() {
      counts.throttled += 1
    },
    quotaRefused() {
      counts.quotaRefused += 1
    },
    refused(violation) {
      refused[violation] += 1
    },
    fault(kind) {
      faults[kind] += 1
    },
    read: (units) => ({
      ...counts,
      units,
      unauthorised: refused.unauthorised,
      violations: protocolViolations.reduce((sum, violation) => sum + refused[violation], 0),
      refused: { ...refused },
      faults: { ...faults },
    }),
  }
}

function zeros<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
}
