import { expect, test } from 'vitest'
import { HOUR_MS, WEEK_MS } from '../../../src/core/durations.ts'
import { blockAfter, unblock } from '../../../src/ingest/machine/failure.ts'
import { initialState, type StepContext } from '../../../src/ingest/machine/state.ts'
import type { Failure } from '../../../src/upstream/outcome.ts'
import { ingestConfig } from '../../support/worlds/ingest-config.ts'

const NOW_MS = Date.parse('2026-01-06T07:00:00Z')

/** A poller with consecutive failures. Each returns its wait; `after` advances time. */
function poller(weeklyQuota = 1_000_000) {
  let context: StepContext = {
    state: initialState(),
    actions: [],
    nowMs: NOW_MS,
    config: ingestConfig(weeklyQuota),
  }
  const wait = (ms: number): void => {
    context = { ...context, nowMs: context.nowMs + ms }
  }
  const fails = (failure: Failure, sent = true): number => {
    const { nowMs } = context
    context.state.request = { purpose: 'poll', query: { pageSize: 100 }, startedMs: 0 }
    blockAfter(context, { ...failure, startedMs: nowMs, endedMs: nowMs, serverMs: null, sent }, nowMs)
    return context.state.blockedUntilMs - nowMs
  }
  return {
    fails,
    wait,
    answers: () => unblock(context),
    /** Fails and waits as long as required; returns how often within that time. */
    failsFor(failure: Failure, lastingMs: number, sent = true): number {
      const endMs = context.nowMs + lastingMs
      let times = 0
      for (; context.nowMs < endMs; times++) wait(fails(failure, sent))
      return times
    },
    get state() {
      return context.state
    },
    get actions() {
      return context.actions
    },
    get intervalMs() {
      return context.config.pacing.meanIntervalMs
    },
  }
}

const refused: Failure = { kind: 'unauthorised', status: 403 }
const broken: Failure = { kind: 'server_error', status: 500 }
const away: Failure = { kind: 'network', message: 'ECONNREFUSED' }
const tooMany: Failure = { kind: 'too_many', retryAfter: null }

test('a rejected key is retried after 10 s, 20 s, 40 s, up to a quarter of an hour', () => {
  const { fails } = poller()
  const waits = Array.from({ length: 9 }, () => fails(refused) / 1000)
  expect(waits).toEqual([10, 20, 40, 80, 160, 320, 640, 900, 900])
})

test('a 403 after other failures or after a success waits as long as a first 403', () => {
  const { fails, answers } = poller()
  for (let times = 0; times < 6; times++) fails(broken)
  expect(fails(refused)).toBe(10_000)
  answers()
  expect(fails(refused)).toBe(10_000)
})

test('after a success the next 429 is classified from scratch', () => {
  const fresh = poller()
  const { fails, wait, answers, state } = fresh
  const first = fails(tooMany)
  for (let times = 0; times < 6; times++) wait(fails(tooMany))
  expect(state.upstream).toBe('quota')
  answers()
  expect(fails(tooMany)).toBe(first)
  expect(state.upstream).toBe('throttled')
})

test('errors are retried after 1, 2, 4 s up to the poll interval, and long outages after a tenth of their length', () => {
  const { fails, wait, intervalMs, state } = poller(3500)
  const waits = Array.from({ length: 10 }, () => fails(broken) / 1000)
  expect(waits.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 64, 128])
  expect(waits[9]).toBeCloseTo(intervalMs / 1000, 0)
  wait(2 * HOUR_MS)
  expect(fails(broken)).toBe(12 * 60_000)
  wait(10 * HOUR_MS)
  expect(fails(broken)).toBe(15 * 60_000)
  expect(state.upstream).toBe('failing')
})

test('a week of errors costs less than a third of the plan’s polls, a week with a rejected key a twelfth', () => {
  const polls = WEEK_MS / poller(3500).intervalMs
  expect(poller(3500).failsFor(broken, WEEK_MS)).toBeLessThan(polls * 0.3)
  expect(poller(3500).failsFor(refused, WEEK_MS)).toBeLessThan(polls / 12)
})

test('a request that never leaves the machine costs nothing and is retried at least every 15 s', () => {
  const { fails, failsFor, state } = poller(350)
  failsFor(away, 24 * HOUR_MS, false)
  expect(fails(away, false)).toBe(15_000)
  expect(state.refunds).toHaveLength(state.failuresInARow)
})

test.each([
  ['500', broken, 0.01],
  ['429', tooMany, 0.02],
] as const)(
  'retries add at most their share of requests when every second request gets a %s',
  (_, failure, share) => {
    for (const weeklyQuota of [350, 1500, 3500, 5000]) {
      const { fails, answers, wait, intervalMs } = poller(weeklyQuota)
      let requests = 0
      for (let passedMs = 0; passedMs < WEEK_MS; ) {
        const waitMs = fails(failure)
        wait(waitMs)
        answers()
        wait(intervalMs)
        requests += 2
        passedMs += waitMs + intervalMs
      }
      const most = Math.max(failure === tooMany ? 50 : 10, weeklyQuota * share)
      expect(requests).toBeLessThanOrEqual(Math.ceil(WEEK_MS / intervalMs) + 2 * most + 2)
    }
  },
)

test('each 429 is counted with its verdict, even an unknown one, and logged', () => {
  const { fails, wait, state, actions } = poller()
  for (let times = 0; times < 7; times++) wait(fails(tooMany))
  expect(state.upstream).toBe('quota')
  expect(actions.flatMap((action) => (action.type === 'tally' ? action.cause : []))).toEqual([
    ...Array.from({ length: 6 }, () => 'unknown'),
    'quota',
  ])
  const verdicts = actions.flatMap((action) => (action.type === 'report' ? action.fields.verdict : []))
  expect(verdicts).toEqual([...Array.from({ length: 6 }, () => 'unknown'), 'quota'])
})

test('six plain 429s in a row with a full quota: each retry leaves within 30 s', () => {
  for (const weeklyQuota of [350, 1500, 3500, 20_000]) {
    const { fails, wait } = poller(weeklyQuota)
    for (let times = 0; times < 6; times++) {
      const waitMs = fails(tooMany)
      expect(waitMs).toBeLessThanOrEqual(30_000)
      wait(waitMs)
    }
  }
})

test('three 429s in a row with `Retry-After: 3` are each retried after three seconds', () => {
  const { fails, wait } = poller(350)
  for (let times = 0; times < 3; times++) {
    const waitMs = fails({ kind: 'too_many', retryAfter: '3' })
    expect(waitMs).toBe(3000)
    wait(waitMs)
  }
})

test('no wait after a 429 goes past the moment when releases begin', () => {
  const { fails, wait } = poller(350)
  wait(17 * HOUR_MS)
  let openedMs = 0
  for (let passedMs = 17 * HOUR_MS; passedMs < 40 * HOUR_MS; ) {
    const waitMs = fails(tooMany)
    wait(waitMs)
    passedMs += waitMs
    if (passedMs >= 24 * HOUR_MS && openedMs === 0) openedMs = passedMs
  }
  expect(openedMs).toBe(24 * HOUR_MS)
})

test('a 429 just before releases begin waits as long as its `Retry-After` says', () => {
  const { fails, wait } = poller(350)
  wait(24 * HOUR_MS - 2_000)
  expect(fails({ kind: 'too_many', retryAfter: '20' })).toBe(20_000)
})
