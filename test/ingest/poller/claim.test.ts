/** A claim that fails half way: the log goes away between the writer and what else a leader reads. */
import { expect, it } from 'vitest'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { plans } from '../../../src/core/plans.ts'
import { BridgeError } from '../../../src/errors.ts'
import { createIngest } from '../../../src/ingest/ingest.ts'
import { aborted } from '../../../src/lifecycle/aborted.ts'
import type { Log } from '../../../src/log/log.ts'
import { createMemoryLog } from '../../../src/log-memory/log.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { until } from '../../support/http/api-server.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

it('leaves no writer behind when it is tried again', async () => {
  const clock = createManualClock()
  const memory = createMemoryLog({ clock })
  const told: string[] = []
  const log: Log = {
    ...memory,
    async claim(term, signal) {
      told.push('claimed')
      const writer = await memory.claim(term, signal)
      return {
        state: writer.state,
        spend: writer.spend,
        commit: writer.commit,
        async release() {
          told.push('released')
          await writer.release()
        },
      }
    },
    async rejectedHashes(limit) {
      if (told.length === 1) throw new BridgeError('log_unavailable', 'no answer')
      return memory.rejectedHashes(limit)
    },
  }
  const copy = {
    ...{ oldest: 1, latest: 0, oldestRecordedMs: () => null, known: () => new Map() },
    caughtUp: (_sequence: number, _epoch: string, signal: AbortSignal) => aborted(signal),
  }
  const { poller, close } = createIngest({
    upstream: {
      ...{ url: 'http://127.0.0.1:9/v2', key: 'key' },
      plan: { ...plans.advanced, name: 'advanced', quotaReset: 'rolling' },
    },
    ...{ gatewayUnits: 0, backfillMs: 0, calendar: createCalendar(), log, copy },
    ...{ clock, chance: () => 0.5, logger: keepingLogger().logger },
    metrics: createMetrics({ version: '0' }),
  })
  const ended = new AbortController()
  const run = poller.run(ended.signal)
  await until(() => {
    clock.advance(100)
    return poller.state.name === 'catching-up'
  })
  expect(told).toEqual(['claimed', 'released', 'claimed'])
  ended.abort()
  await run
  expect(told).toEqual(['claimed', 'released', 'claimed', 'released'])
  await close()
})
