/** A claim that fails half way: the log becomes unavailable after the writer exists, before the rejected items are read. */
import { expect, it } from 'vitest'
import { COMPLETE_REPLICA } from '../../../src/archive/store/replica-progress.ts'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { plans } from '../../../src/core/plans.ts'
import { BridgeError } from '../../../src/errors.ts'
import { createIngest } from '../../../src/ingest/ingest.ts'
import { aborted } from '../../../src/lifecycle/aborted.ts'
import type { Log } from '../../../src/log/log.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { until } from '../../support/http/api-server.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

it('a failed claim releases its writer before the next try', async () => {
  const clock = createManualClock()
  const memory = createMemoryLog({ clock })
  const calls: string[] = []
  const log: Log = {
    ...memory,
    async claim(term, signal) {
      calls.push('claimed')
      const writer = await memory.claim(term, signal)
      return {
        epoch: writer.epoch,
        sequence: writer.sequence,
        rows: writer.rows,
        commit: writer.commit,
        async release() {
          calls.push('released')
          await writer.release()
        },
      }
    },
    async rejectedHashes(limit) {
      if (calls.length === 1) throw new BridgeError('log_unavailable', 'no answer')
      return memory.rejectedHashes(limit)
    },
  }
  const replica = {
    ...{ oldest: 1, latest: 0, oldestRecordedMs: () => null, known: () => new Map() },
    replica: COMPLETE_REPLICA,
    caughtUp: (_sequence: number, _epoch: string, signal: AbortSignal) => aborted(signal),
  }
  const { poller, close } = createIngest({
    upstream: {
      ...{ url: 'http://127.0.0.1:9/v2', key: 'key' },
      plan: { ...plans.advanced, name: 'advanced', quotaReset: 'rolling' },
    },
    ...{
      native: { word: 'native' },
      gatewayUnits: 0,
      backfillMs: 0,
      calendar: createCalendar(),
      log,
      archive: replica,
      replicator: replica,
    },
    ...{ clock, chance: () => 0.5, logger: keepingLogger().logger },
    metrics: createMetrics({ version: '0' }),
  })
  const ended = new AbortController()
  const run = poller.run(ended.signal)
  await until(() => {
    clock.advance(100)
    return poller.state.name === 'catching-up'
  })
  expect(calls).toEqual(['claimed', 'released', 'claimed'])
  ended.abort()
  await run
  expect(calls).toEqual(['claimed', 'released', 'claimed', 'released'])
  await close()
})
