import { expect, test } from 'vitest'
import { LeaderReports } from '../../src/archive/leader-reports.ts'
import { yieldToEventLoop } from '../../src/lifecycle/clock.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

/** A heartbeat of that leader, as it is in the topic. */
function heartbeat(id: string, since: string, more: object = {}): string {
  return JSON.stringify({
    type: 'heartbeat',
    epoch: 'epoch001',
    sequence: 7,
    phase: 'open',
    openGaps: 0,
    quotaRemaining: 300,
    asOf: '2026-06-01T07:00:30.000Z',
    leader: { id, since: `2026-06-01T${since}.000Z` },
    upstreamState: 'ok',
    lastGoodPoll: '2026-06-01T07:00:29.000Z',
    nextPoll: '2026-06-01T07:01:00.000Z',
    quota: { limit: 350, used: 50, remaining: 300, reset: null, forecast: 0.4, drift: null },
    gaps: [],
    completeness: '+day',
    upstreamAheadMs: 0,
    ...more,
  })
}

/** Reports that receive what `publish` gives. */
function receiving() {
  const clock = createManualClock(0)
  const { logger, lines } = keepingLogger()
  let publish = (_text: string): void => {}
  async function* followStatus(): AsyncGenerator<string[]> {
    for (;;) {
      const text = await new Promise<string>((resolve) => {
        publish = resolve
      })
      yield [text]
    }
  }
  const reports = new LeaderReports({ log: { followStatus }, clock, logger })
  void reports.run(new AbortController().signal)
  return {
    clock,
    lines,
    reports,
    /** The leader that counts once this was received. */
    async leaderAfter(text: string): Promise<string | null> {
      await yieldToEventLoop()
      publish(text)
      await yieldToEventLoop()
      return reports.latest?.leader?.id ?? null
    },
  }
}

test('nothing is known before the first report, and the newest one counts', async () => {
  const { reports, leaderAfter } = receiving()
  expect(reports.latest).toBeNull()
  expect(await leaderAfter(heartbeat('a:1', '06:00:00'))).toBe('a:1')
  await leaderAfter(heartbeat('a:1', '06:00:00', { upstreamState: 'failing' }))
  expect(reports.latest).toMatchObject({ upstreamState: 'failing', quota: { used: 50 }, gaps: [] })
})

test('a leader that was suspended and publishes once more does not displace its successor', async () => {
  const { leaderAfter } = receiving()
  await leaderAfter(heartbeat('a:1', '06:00:00'))
  expect(await leaderAfter(heartbeat('b:1', '07:00:00'))).toBe('b:1')
  expect(await leaderAfter(heartbeat('a:1', '06:00:00'))).toBe('b:1')
  expect(await leaderAfter(heartbeat('a:1', '07:00:30'))).toBe('a:1')
})

test('a successor whose clock is behind is believed once its predecessor is silent', async () => {
  const { clock, leaderAfter } = receiving()
  await leaderAfter(heartbeat('a:1', '06:00:00'))
  clock.advance(6_000)
  expect(await leaderAfter(heartbeat('b:1', '05:00:00'))).toBe('a:1')
  clock.advance(15_000)
  expect(await leaderAfter(heartbeat('b:1', '05:00:00'))).toBe('b:1')
  clock.advance(15_000)
  expect(await leaderAfter(heartbeat('b:1', '05:00:00'))).toBe('b:1')
})

test('what an earlier version does not report is null, never a figure', async () => {
  const { reports, leaderAfter } = receiving()
  const earlier = {
    lastGoodPoll: '2026-06-01T07:00:29.000Z',
    nextPoll: null,
    openGaps: 1,
    quotaRemaining: 300,
  }
  await leaderAfter(JSON.stringify({ type: 'heartbeat', epoch: 'e', sequence: 7, phase: 'open', ...earlier }))
  expect(reports.latest).toEqual({
    asOf: null,
    leader: null,
    upstreamState: null,
    lastGoodPoll: earlier.lastGoodPoll,
    nextPoll: null,
    quota: { limit: null, used: null, remaining: 300, reset: null, forecast: null, drift: null },
    gaps: null,
    completeness: null,
    unreconciled: null,
    upstreamAheadMs: null,
    pausedSince: null,
  })
})

test('what only a later version knows is null, and the rest is read', async () => {
  const { reports, leaderAfter } = receiving()
  await leaderAfter(heartbeat('a:1', '06:00:00', { upstreamState: 'paused', news: 1 }))
  expect(reports.latest).toMatchObject({ upstreamState: null, quota: { used: 50 } })
})

test('daily reports are passed over; what no bridge wrote too, with one warning', async () => {
  const { reports, lines, leaderAfter } = receiving()
  await leaderAfter(heartbeat('a:1', '06:00:00'))
  await leaderAfter(JSON.stringify({ type: 'day', date: '2026-06-01' }))
  expect(lines).toEqual([])
  for (const text of ['', 'null', '7', '{"type":7}']) expect(await leaderAfter(text)).toBe('a:1')
  expect(lines.map(({ event }) => event)).toEqual(['leader.report_unreadable'])
  expect(reports.latest?.upstreamState).toBe('ok')
})
