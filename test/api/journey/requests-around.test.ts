import { expect, test } from 'vitest'
import { requestsAround } from '../../../src/api/journey/requests-around.ts'
import { type KeptRequest, type PollsRow, pollsKey } from '../../../src/archive/polls.ts'

const HOUR_MS = 3_600_000
const at = (atMs: number): KeptRequest => [atMs, 'poll', 'empty', 0, 0, 60_000, 80]
const sums = (minuteMs: number) =>
  ({ minuteMs, purpose: 'poll', results: { empty: 15 }, newItems: 0, fullPages: 0 }) as const

test('of polls before an event that others followed, of which sums are kept, none is the one before it', () => {
  const noonMs = 12 * HOUR_MS
  const rows = new Map<string, PollsRow>([
    [pollsKey(noonMs - HOUR_MS, 1, 1), { aheadMs: 0, requests: [at(noonMs - HOUR_MS)], minutes: [] }],
    [pollsKey(noonMs, 1, 2), { aheadMs: 0, requests: [], minutes: [sums(noonMs), sums(noonMs + 60_000)] }],
    [pollsKey(noonMs + 300_000, 1, 3), { aheadMs: 0, requests: [at(noonMs + 310_000)], minutes: [] }],
  ])
  const timesOf = (fromMs: number, toMs: number): number[] =>
    requestsAround(rows, fromMs, toMs).requests.map(({ atMs }) => atMs - noonMs)
  expect(timesOf(noonMs - 1000, noonMs - 500)).toEqual([-HOUR_MS])
  expect(timesOf(noonMs + 30_000, noonMs + 40_000)).toEqual([])
  expect(timesOf(noonMs + 200_000, noonMs + 250_000)).toEqual([])
  expect(timesOf(noonMs + 90_000, noonMs + 320_000)).toEqual([310_000])
  expect(timesOf(noonMs + 320_000, noonMs + 330_000)).toEqual([310_000])
})
