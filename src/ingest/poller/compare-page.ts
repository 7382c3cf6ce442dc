/** Compares the items of a page with what is published, set aside as unreadable, or older than the log keeps. */
import type { Archive } from '../../archive/store/archive.ts'
import { isoMillis } from '../../core/dates.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { inSlices } from '../../lifecycle/slices.ts'
import type { Logger } from '../../obs/logger.ts'
import type { UpstreamListQuery } from '../../upstream/list-parameters.ts'
import type { Page } from '../../upstream/page.ts'
import type { ReadPage } from '../machine/state.ts'
import type { Head } from '../writer-state/head.ts'
import type { NotYetReplicated } from './not-yet-replicated.ts'
import { readItems } from './read-page.ts'
import type { RejectedTexts } from './rejected-texts.ts'
import { beyondRetentionMs } from './retention-bound.ts'

/** What a page is compared with. */
export interface PageParts {
  archive: Pick<Archive, 'oldest' | 'latest' | 'oldestRecordedMs' | 'known'>
  /** The head that the present writer found when it claimed. */
  claimed: Readonly<Head>
  rejected: RejectedTexts
  notYetReplicated: NotYetReplicated
  clock: Clock
  logger: Logger
}

/** A page and the request that brought it. `nowMs`: our clock, ms since 1970. */
export interface AnsweredPage {
  page: Page
  query: UpstreamListQuery
  nowMs: number
  journey: string
}

/** The page, read in slices that leave the event loop free. What is listed behind a poll cursor is new, however old its time. */
export async function comparePage(
  { archive, claimed, rejected, notYetReplicated, clock, logger }: PageParts,
  { page, query, nowMs, journey }: AnsweredPage,
): Promise<ReadPage> {
  const throughMs = query.sinceCursor === undefined ? beyondRetentionMs(archive, claimed, nowMs) : null
  let count = 0
  const isBeyondRetention = (timeMs: number): boolean => {
    if (throughMs === null || timeMs > throughMs) return false
    count += 1
    return true
  }
  const isRejected = (hash: string): boolean => rejected.has(hash)
  const standings = (guids: string[]) => notYetReplicated.latestOf(guids)
  const steps = readItems(page, standings, isRejected, isBeyondRetention, nowMs)
  const read = await inSlices(steps, () => clock.now())
  if (throughMs !== null && count > 0) {
    logger.warn('items.beyond_retention', {
      items: count,
      until: isoMillis(throughMs),
      reason:
        'not published: these items are older than the log keeps events and may have been published before',
    })
  }
  return { ...read, fresh: read.fresh.map((item) => ({ ...item, journey })) }
}
