import { expect, test } from 'vitest'
import type { KafkaSession } from '../../../src/log-kafka/client/client.ts'
import type { UndecidedTopic } from '../../../src/log-kafka/client/kafkajs-internals.ts'
import { createDecidedWatch } from '../../../src/log-kafka/reading/stable-offset.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

/** A watch whose looks answer these in turn, the last for ever; sessions that were opened and not ended. */
function watchOver(answers: (UndecidedTopic[] | Error)[]) {
  const clock = createManualClock()
  let open = 0
  const openSession = (): KafkaSession => {
    open += 1
    const undecided = async (): Promise<UndecidedTopic[]> => {
      const answer = answers.length > 1 ? answers.shift() : answers[0]
      clock.advance(500)
      if (answer instanceof Error) throw answer
      return answer ?? []
    }
    return { partitions: { undecided }, end: () => open-- } as unknown as KafkaSession
  }
  const watch = createDecidedWatch(openSession, clock)
  /** Waits as long as it takes, the clock going on. */
  const wait = async (): Promise<void> => {
    let over = false
    const waiting = watch.untilDecided(['t']).finally(() => {
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

const WAITING: UndecidedTopic[] = [{ topic: 't', from: 3, end: 5 }]

test('what is decided soon is waited for, over faults of the brokers too', async () => {
  const { watch, wait, sessions } = watchOver([WAITING, new Error('moved'), []])
  await wait()
  expect(sessions()).toBe(1)
  watch.end()
  watch.end()
  expect(sessions()).toBe(0)
})

test('what stays undecided, or cannot be asked for, is told', async () => {
  await expect(watchOver([WAITING]).wait()).rejects.toThrow('what t has from 3 on is not decided')
  await expect(watchOver([new Error('away')]).wait()).rejects.toThrow('away')
})
