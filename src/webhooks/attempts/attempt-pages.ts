/**
 * Writes webhook delivery attempts to a journal of the log in pages, each small enough for one record. All attempts in
 * a page are for events of the same epoch: one life of the log, in which sequence numbers are unique.
 */
import type { Journal } from '../../log/journal.ts'
import type { AttemptSink } from './attempt-queue.ts'
import { type AttemptPage, type AttemptRecord, attemptPage } from './attempt-record.ts'

/** Time in which attempts are gathered for a write, ms. */
export const JOURNAL_GATHER_MS = 250
/** Most attempts of a page, and most bytes of it, counted as if every character needed an escape: below LARGEST_ROW_BYTES. */
const PAGE = { attempts: 500, bytes: 400 * 1024 }
/** Pages that are appended together: an append waits for the log. */
const PAGES_PER_APPEND = 8
/** Most bytes of an attempt as JSON, without its texts. */
const PLAIN_BYTES = 300
/** Most bytes of a character as JSON. */
const ESCAPED_BYTES = 6

/** The journal as a sink of attempts. */
export function journalSink(journal: Pick<Journal<AttemptPage>, 'append'>): AttemptSink {
  return {
    maxAttempts: PAGES_PER_APPEND * PAGE.attempts,
    gatherMs: JOURNAL_GATHER_MS,
    async write(attempts) {
      const pages = pagesOf(attempts)
      for (let at = 0; at < pages.length; at += PAGES_PER_APPEND) {
        await journal.append(pages.slice(at, at + PAGES_PER_APPEND))
      }
    },
  }
}

function pagesOf(attempts: readonly AttemptRecord[]): AttemptPage[] {
  const pages: AttemptPage[] = []
  for (let at = 0; at < attempts.length; ) {
    const end = pageEnd(attempts, at)
    pages.push(attemptPage(attempts[at]?.epoch ?? '', attempts.slice(at, end)))
    at = end
  }
  return pages
}

/** Where the page that begins at `from` ends: at least one attempt later. */
function pageEnd(attempts: readonly AttemptRecord[], from: number): number {
  const epoch = attempts[from]?.epoch
  let bytes = 0
  for (let at = from; at < attempts.length; at++) {
    const record = attempts[at]
    bytes += PLAIN_BYTES + ESCAPED_BYTES * ((record?.eventId.length ?? 0) + (record?.response?.length ?? 0))
    const isBeyond = at - from === PAGE.attempts || record?.epoch !== epoch || bytes > PAGE.bytes
    if (isBeyond) return Math.max(from + 1, at)
  }
  return attempts.length
}
