import { expect, it } from 'vitest'
import { boundedRead } from '../../../src/log-kafka/client/bounded-read.ts'
import type { OpenSession } from '../../../src/log-kafka/client/client.ts'
import { createManualClock, type ManualClock } from '../../support/time/manual-clock.ts'

const openSession = (() => ({ partitions: {}, end: () => undefined })) as unknown as OpenSession

/** Moves the clock on, then lets the read go on. */
async function advance(clock: ManualClock, ms: number): Promise<void> {
  clock.advance(ms)
  await new Promise((resolve) => setImmediate(resolve))
}

it('a read that fails for its whole time names the last reason that Kafka gave, not that the time is over', async () => {
  const clock = createManualClock()
  const reading = boundedRead({ openSession, clock }, 'reading', new AbortController().signal, async () => {
    throw new Error('no such topic')
  })
  const failed = expect(reading).rejects.toThrow('Kafka: reading failed: no such topic')
  for (let ms = 0; ms < 10_100; ms += 7) await advance(clock, 7)
  await failed
})

it('a later try that gets no answer leaves the reason of the one before', async () => {
  const clock = createManualClock()
  let tries = 0
  const reading = boundedRead({ openSession, clock }, 'reading', new AbortController().signal, async () => {
    tries += 1
    if (tries === 1) throw new Error('no such topic')
    return new Promise<never>(() => undefined)
  })
  const failed = expect(reading).rejects.toThrow('Kafka: reading failed: no such topic')
  for (let ms = 0; ms < 10_100; ms += 50) await advance(clock, 50)
  await failed
  expect(tries).toBe(2)
})

it('a read without any answer says how long it was waited for', async () => {
  const clock = createManualClock()
  const reading = boundedRead(
    { openSession, clock },
    'reading',
    new AbortController().signal,
    () => new Promise<never>(() => undefined),
  )
  const failed = expect(reading).rejects.toThrow('Kafka: reading failed: no answer within 10 s')
  await advance(clock, 10_000)
  await failed
})
