/** Tests what a log on Kafka tells of brokers that have never answered. */
import { expect, it } from 'vitest'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { openKafkaLog } from '../../src/log-kafka/log.ts'
import { kafkaLogOptions } from '../support/kafka/kafka-logs.ts'

it('is silent since it was opened, ten seconds after that: what it holds is not known', async () => {
  let nowMs = systemClock.now()
  const openedMs = nowMs
  const clock = { ...systemClock, now: () => nowMs }
  const log = openKafkaLog({ ...kafkaLogOptions(['127.0.0.1:1']), clock })
  expect(log.silentSinceMs).toBeNull()
  nowMs += 10_000
  expect(log.silentSinceMs).toBeNull()
  nowMs += 1
  expect(log.silentSinceMs).toBe(openedMs)
  await log.close()
})
