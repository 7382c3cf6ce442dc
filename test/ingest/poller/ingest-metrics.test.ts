import { expect, test } from 'vitest'
import { type IngestConfig, initialState } from '../../../src/ingest/machine/state.ts'
import { createObserver } from '../../../src/ingest/poller/ingest-metrics.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'

test('a 429 is counted by its verdict, and no other outcome is counted as a 429', async () => {
  const metrics = createMetrics({ version: 'test' })
  const observer = createObserver(metrics, {} as IngestConfig)
  observer.requestDone('poll', 'throttled', 'unknown')
  observer.requestDone('poll', 'throttled', 'throttle')
  observer.requestDone('poll', 'quota', 'quota')
  observer.requestDone('poll', 'server_error')
  const lines = (await metrics.scrape()).split('\n')
  const counts = lines.filter((line) => line.startsWith('bridge_upstream_429_total'))
  expect(counts).toEqual(
    ['throttle', 'quota', 'unknown'].map((kind) => `bridge_upstream_429_total{kind="${kind}"} 1`),
  )
})

test('what only the leader knows has a series only on the leader, and only once it has read the writer state', async () => {
  const metrics = createMetrics({ version: 'test' })
  const observer = createObserver(metrics, { weeklyQuota: 350, quotaReset: 'rolling' } as IngestConfig)
  const known = async (): Promise<string[]> =>
    [
      ...(await metrics.scrape()).matchAll(/^bridge_((?:quota|poll_(?:last|interval)|gaps_open)\w* .*)$/gm),
    ].map(([, line = '']) => line.replace(/(reset_timestamp_seconds) .*/, '$1'))
  const unclaimed = initialState()
  observer.leads(null)
  observer.stateChanged(unclaimed, 0)
  observer.leads(1000)
  observer.stateChanged(unclaimed, 1000)
  expect(await known()).toEqual([])
  const head = { ...unclaimed.head, epoch: 'epoch001' }
  observer.stateChanged({ ...unclaimed, head, ledger: new Map([[0, { poll: 7 }]]) }, 1000)
  expect(await known()).toEqual([
    'poll_interval_seconds 0',
    'gaps_open 0',
    'quota_limit_units 350',
    'quota_used_units 7',
    'quota_remaining_units 343',
    'quota_reset_timestamp_seconds',
    'quota_forecast_ratio 0',
  ])
  observer.stateChanged({ ...unclaimed, head, lastGoodPollMs: 2000 }, 2000)
  expect(await known()).toContain('poll_last_success_timestamp_seconds 2')
  observer.leads(null)
  expect(await known()).toEqual([])
})
