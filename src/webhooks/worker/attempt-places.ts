/**
 * Limits how many delivery attempts this process has under way, in all and of one tenant: each takes an open file, and a
 * tenant whose receivers hang must leave some to others.
 */
import { createPlaces, type Places } from '../../lifecycle/places.ts'

/** Share of the files that the process may open. */
const FILES_SHARE = 0.4
/** Most attempts however many files may be opened: a connection takes some 40 KB. */
const MOST_ATTEMPTS = 8192
/** Share of them that one tenant may have. */
const TENANT_SHARE = 0.25

/** The places under a limit of open files; null = unknown, taken as sufficient. */
export function attemptPlaces(openFiles: number | null): Places {
  const byFiles = openFiles === null ? MOST_ATTEMPTS : Math.floor(openFiles * FILES_SHARE)
  const limit = Math.max(1, Math.min(MOST_ATTEMPTS, byFiles))
  return createPlaces(limit, Math.ceil(limit * TENANT_SHARE))
}
