/**
 * Limits how many delivery attempts this process has under way, in all and of one tenant: each takes an open file, and a
 * tenant whose receivers hang must leave some to others.
 */
import { createPlaces, type Places } from '../../lifecycle/places.ts'

/** Share of them that one tenant may have. */
const TENANT_SHARE = 0.25

/** So many places, at least one. */
export function attemptPlaces(limit: number): Places {
  return createPlaces(limit, Math.ceil(limit * TENANT_SHARE))
}
