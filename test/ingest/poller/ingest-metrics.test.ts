import { expect, test } from 'vitest'
import { type Committed, PUBLISHED } from '../../../src/core/event.ts'
import { type IngestConfig, type IngestState, initialState } from '../../../src/ingest/machine/state.ts'
import { createObserver } from '../../../src/ingest/poller/ingest-metrics.ts'
import type { PollerCommit } from '../../../src/ingest/writer-state/poller-writer.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { metric } from '../../support/metric.ts'

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
      ...(await metrics.scrape()).matchAll(
        /^bridge_((?:quota|poll_(?:last|interval)|gaps_open|upstream_state|clock_skew|leader_since)\S* .*)$/gm,
      ),
    ].map(([, line = '']) => line.replace(/(reset_timestamp_seconds) .*/, '$1'))
  const unclaimed = initialState()
  observer.leads(null)
  observer.stateChanged(unclaimed, 0)
  observer.leads(1000)
  observer.stateChanged(unclaimed, 1000)
  expect(await known()).toEqual(['leader_since_timestamp_seconds 1'])
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
    'upstream_state{state="ok"} 0',
    'upstream_state{state="throttled"} 0',
    'upstream_state{state="quota"} 0',
    'upstream_state{state="unauthorised"} 0',
    'upstream_state{state="failing"} 0',
    'upstream_state{state="waiting"} 1',
    'leader_since_timestamp_seconds 1',
  ])
  const polled = { lastGoodPollMs: 2000, skewMs: -1500, quotaDrift: 0.25, upstream: 'unauthorised' } as const
  observer.stateChanged({ ...unclaimed, head, ...polled }, 2000)
  expect(await known()).toEqual(
    expect.arrayContaining([
      'poll_last_success_timestamp_seconds 2',
      'clock_skew_seconds -1.5',
      'quota_drift_ratio 0.25',
      'upstream_state{state="unauthorised"} 1',
      'upstream_state{state="waiting"} 0',
    ]),
  )
  observer.leads(null)
  expect(await known()).toEqual([])
})

test('only items of polls without a fill count to the objective on them, whatever their fill took', async () => {
  const metrics = createMetrics({ version: 'test' })
  const observer = createObserver(metrics, {} as IngestConfig)
  const fetchedMs = Date.parse('2026-01-06T07:00:00Z')
  const event = { type: PUBLISHED, timeMs: fetchedMs, recordedtime: '2026-01-06T07:00:00.000Z' } as Committed
  const commit = {} as PollerCommit
  const at = (nowMs: number) => ({ startMs: nowMs - 40, nowMs, skewMs: 0 })
  observer.committed({ purpose: 'poll', commit }, [event, event], at(fetchedMs + 50))
  observer.committed({ purpose: 'fill', commit }, [event], at(fetchedMs + 6100))
  expect(await metric({ metrics }, 'publish_latency_seconds_count')).toBe(3)
  expect(await metric({ metrics }, 'poll_publish_latency_seconds_count')).toBe(2)
  expect(await metric({ metrics }, 'poll_publish_latency_seconds_bucket{le="0.1"}')).toBe(2)
  expect(await metric({ metrics }, 'commit_duration_seconds_bucket{le="0.05"}')).toBe(2)
})

test('an unknown outcome stays unresolved until the next claim has read what is durable', async () => {
  const metrics = createMetrics({ version: 'test' })
  const observer = createObserver(metrics, { weeklyQuota: 350, quotaReset: 'rolling' } as IngestConfig)
  const shown = async (state: Partial<IngestState>): Promise<number> => {
    observer.stateChanged({ ...initialState(), ...state }, 0)
    return metric({ metrics }, 'commit_unresolved')
  }
  expect(await shown({ name: 'claiming' })).toBe(0)
  expect(await shown({ name: 'claiming', brokenInARow: 1 })).toBe(1)
  expect(await shown({ name: 'catching-up', brokenInARow: 1 })).toBe(0)
  expect(await shown({ name: 'claiming', brokenInARow: 2 })).toBe(1)
  expect(await shown({ name: 'standby' })).toBe(0)
})

test('a commit with an unknown outcome is counted once the next claim has read what became of it', async () => {
  const metrics = createMetrics({ version: 'test' })
  const observer = createObserver(metrics, { weeklyQuota: 350, quotaReset: 'rolling' } as IngestConfig)
  const events = [{ type: PUBLISHED, late: false }] as PollerCommit['events']
  const show = (name: IngestState['name'], head: Partial<IngestState['head']>): void => {
    const state = initialState()
    observer.stateChanged({ ...state, name, head: { ...state.head, epoch: 'epoch001', ...head } }, 0)
  }
  const breaks = (commit: PollerCommit): void => {
    observer.commitBroke('unknown', { purpose: 'poll', commit }, 5)
    show('polling', { sequence: 7 })
    show('claiming', { sequence: 7 })
  }
  const counted = async (): Promise<number[]> =>
    Promise.all(
      [
        'commit_resolved_total{outcome="committed"}',
        'commit_resolved_total{outcome="aborted"}',
        'commit_total{outcome="aborted"}',
        'items_total{disposition="new"}',
      ].map((name) => metric({ metrics }, name)),
    )
  show('polling', { sequence: 7 })
  breaks({ events })
  expect(await counted()).toEqual([0, 0, 0, 0])
  show('catching-up', { sequence: 8 })
  show('polling', { sequence: 8 })
  expect(await counted()).toEqual([1, 0, 0, 1])
  show('polling', { sequence: 7 })
  breaks({ events })
  show('catching-up', { sequence: 7 })
  expect(await counted()).toEqual([1, 1, 1, 1])
  // Without events the changes of the head say it.
  breaks({ events: [], head: { cursor: 'next' } })
  show('catching-up', { sequence: 7, cursor: 'next' })
  breaks({ events: [], head: { cursor: 'later' } })
  show('catching-up', { sequence: 7, cursor: 'next' })
  expect(await counted()).toEqual([2, 2, 2, 1])
  // Another process led meanwhile: what it wrote hides what became of this.
  breaks({ events })
  show('standby', { sequence: 0 })
  show('catching-up', { sequence: 9 })
  breaks({ events: [] })
  show('catching-up', { sequence: 7 })
  expect(await counted()).toEqual([2, 2, 2, 1])
})
