import { expect, test } from 'vitest'
import type { KafkaSession } from '../../../src/log-kafka/client/client.ts'
import type { UnstableTopic } from '../../../src/log-kafka/client/kafkajs-internals.ts'
import { StableOffsetWatch } from '../../../src/log-kafka/reading/stable-offset.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

/** A watch whose checks return these values in turn, the last one repeatedly; and the number of open sessions. */
function watchOver(answers: (UnstableTopic[] | Error)[]) {
  const clock = createManualClock()
  let open = 0
  const openSession = (): KafkaSession => {
    open += 1
    const unstable = async (): Promise<UnstableTopic[]> => {
      const answer = answers.length > 1 ? answers.shift() : answers[0]
      clock.advance(500)
      if (answer instanceof Error) throw answer
      return answer ?? []
    }
    return { partitions: { unstable }, end: () => open-- } as unknown as KafkaSession
  }
  const watch = new StableOffsetWatch(openSession, clock)
  /** Waits for the result while the clock advances. */
  const wait = async (): Promise<void> => {
    let over = false
    const waiting = watch.waitForStable(['t']).finally(() => {
      over = true
    })
    waiting.catch(() => undefined)
    while (!over) {
      await new Promise((resolve) => setImmediate(resolve))
      clock.advance(5)
    }
    return waiting
  }
  return { watch, wait, sessions: () => open }
}

const OPEN: UnstableTopic[] = [{ topic: 't', from: 3, end: 5 }]

test('waits for a transaction that ends soon, also over errors of the brokers', async () => {
  const { watch, wait, sessions } = watchOver([OPEN, new Error('moved'), []])
  await wait()
  expect(sessions()).toBe(1)
  watch.end()
  watch.end()
  expect(sessions()).toBe(0)
})

test('throws if a transaction does not end, or the brokers do not respond', async () => {
  await expect(watchOver([OPEN]).wait()).rejects.toThrow(
    't has records of an unfinished transaction from offset 3 on',
  )
  await expect(watchOver([new Error('away')]).wait()).rejects.toThrow('away')
})
