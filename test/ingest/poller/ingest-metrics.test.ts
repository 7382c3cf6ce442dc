import { expect, test } from 'vitest'
import type { IngestConfig } from '../../../src/ingest/machine/state.ts'
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
