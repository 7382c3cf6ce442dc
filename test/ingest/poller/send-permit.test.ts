import { expect, test } from 'vitest'
import { HOUR_MS } from '../../../src/core/durations.ts'
import type { Purpose } from '../../../src/core/purpose.ts'
import { createTokenBucket } from '../../../src/governor/quota/token-bucket.ts'
import { createSendPermit } from '../../../src/ingest/poller/send-permit.ts'
import { claimed } from '../../log/samples.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

/** A permit on a log in memory, with the calls its writer received; `slow` is what each of its spends takes. */
async function permitOf(plan = { ratePerSecond: 1, burst: 2 }, slow: number[] = []) {
  const clock = createManualClock()
  const log = createMemoryLog()
  const writer = await claimed(log)
  const spends: [number, Purpose][] = []
  const watched = {
    async spend(units: number, purpose: Purpose, atMs: number) {
      spends.push([units, purpose])
      await writer.spend(units, purpose, atMs)
      clock.advance(slow.shift() ?? 0)
    },
  }
  const bucket = createTokenBucket(plan)
  const { signal } = new AbortController()
  const permit = createSendPermit({ writer: watched, bucket, clock, signal })
  return { clock, log, writer, bucket, spends, permit, signal }
}

test('a request writes to the log once, however long it waits for the throttle', async () => {
  const { clock, bucket, spends, permit, signal } = await permitOf({ ratePerSecond: 0.1, burst: 2 })
  bucket.take(clock.now())
  await permit.spend('poll', clock.now())
  const passed = permit.throttle(signal)
  const waitMs = clock.nextTimerMs() ?? 0
  expect(waitMs).toBeGreaterThan(10_000)
  clock.advance(waitMs)
  await passed
  expect(spends).toEqual([[1, 'poll']])
})

test('a request whose process froze while waiting proves leadership again without spending another unit', async () => {
  const { clock, writer, bucket, spends, permit, signal } = await permitOf()
  bucket.take(clock.now())
  const spentMs = clock.now()
  await permit.spend('fill', spentMs)
  const passed = permit.throttle(signal)
  clock.set(clock.now() + 10_000)
  clock.advance(clock.nextTimerMs() ?? 0)
  await passed
  expect(spends).toEqual([
    [1, 'fill'],
    [0, 'fill'],
  ])
  expect(permit.spentMs).toBe(spentMs)
  expect([...writer.state.ledger]).toEqual([[spentMs - (spentMs % HOUR_MS), { fill: 1 }]])
})

test('a request is not sent if its process was frozen and fenced while it waited', async () => {
  const { clock, log, bucket, permit, signal } = await permitOf()
  bucket.take(clock.now())
  await permit.spend('poll', clock.now())
  const passed = permit.throttle(signal)
  await claimed(log)
  clock.set(clock.now() + 10_000)
  clock.advance(clock.nextTimerMs() ?? 0)
  await expect(passed).rejects.toMatchObject({ code: 'log_fenced' })
})

test('a leadership proof or spent unit whose write took too long does not prove leadership', async () => {
  const { clock, spends, permit, signal } = await permitOf({ ratePerSecond: 1, burst: 2 }, [7_000, 8_000, 10])
  await permit.spend('poll', clock.now())
  const passed = permit.throttle(signal)
  clock.advance(0)
  await passed
  expect(spends.map(([units]) => units)).toEqual([1, 0, 0])
})

test('a request aborted while it waits needs no leadership proof', async () => {
  const { clock, log, bucket, writer } = await permitOf()
  bucket.take(clock.now())
  const given = new AbortController()
  const permit = createSendPermit({ writer, bucket, clock, signal: given.signal })
  await permit.spend('poll', clock.now())
  const passed = permit.throttle(given.signal)
  await claimed(log)
  clock.set(clock.now() + 10_000)
  given.abort()
  await expect(passed).resolves.toBeUndefined()
})
