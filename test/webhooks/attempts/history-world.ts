/** Builds what an attempt history works with: an endpoint, a journal of its log, and a file. */
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createSearchSlices } from '../../../src/archive/reading/search-slices.ts'
import type { Journal } from '../../../src/log/journal.ts'
import { AttemptHistory, type AttemptHistoryOptions } from '../../../src/webhooks/attempts/attempt-history.ts'
import {
  ATTEMPTS_KEPT_MS,
  type AttemptPage,
  attemptPage,
} from '../../../src/webhooks/attempts/attempt-record.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { EPOCH } from '../../support/store.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { recordOf } from '../../support/webhooks/attempted.ts'
import { endpointNode, wantedEndpoint } from '../../support/webhooks/endpoints.ts'

/** The present time of the world. */
export const NOW_MS = createManualClock().now()

/** A node with an endpoint, a journal of that log, and the attempt history in a file. */
export async function historyWorld(
  wrap: (journal: Journal<AttemptPage>) => Journal<AttemptPage> = (journal) => journal,
) {
  const clock = createManualClock(NOW_MS)
  const log = createMemoryLog({ clock })
  const { endpoints } = await endpointNode(log, clock)
  const { id } = await endpoints
    .create(wantedEndpoint())
    .then((made) => (typeof made === 'string' ? { id: '' } : made))
  const directory = temporaryDirectory()
  const path = join(directory.path, 'attempts.db')
  const { logger, lines } = keepingLogger()
  const journal = log.journal<AttemptPage>('attempts', ATTEMPTS_KEPT_MS)
  const searchSlices = createSearchSlices(clock)
  const open = (file = path, changed: Partial<AttemptHistoryOptions> = {}) => {
    const history = new AttemptHistory({
      path: file,
      journal: wrap(journal),
      isDirect: false,
      endpoints,
      searchSlices,
      clock,
      chance: () => 0.5,
      logger,
      ...changed,
    })
    const stop = new AbortController()
    const running = history.run(stop.signal)
    const sequences = (endpointId = id): number[] =>
      history
        .deliveries(endpointId, {
          epoch: EPOCH,
          states: ['pending', 'delivered', 'dead'],
          before: null,
          limit: 1000,
        })
        .map(({ sequence }) => sequence)
    const close = async (): Promise<void> => {
      stop.abort()
      await running
      history.close()
    }
    return { history, sequences, close }
  }
  onTestFinished(async () => {
    await log.close()
    directory[Symbol.dispose]()
  })
  const tell = (...sequences: number[]) =>
    journal.append([
      attemptPage(
        EPOCH,
        sequences.map((sequence) => recordOf({ endpointId: id, sequence, atMs: NOW_MS - 1000 + sequence })),
      ),
    ])
  return { id, clock, endpoints, searchSlices, journal, path, lines, open, tell }
}
