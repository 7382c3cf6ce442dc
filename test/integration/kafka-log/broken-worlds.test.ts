/**
 * Tests the log on Kafka with all that the poller asks of a log in worlds with crashes and lost answers. More worlds:
 * `npm run campaign -- --broken 1 --log kafka`.
 */
import { describe, expect, it } from 'vitest'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { logCaseNames, logCases } from '../../support/worlds/real-log/log-cases.ts'
import { kafkaLog } from '../../support/worlds/real-log/real-log.ts'
import { replay } from '../../support/worlds/real-log/replay.ts'

const brokers = await sharedBrokers()

describe.skipIf(brokers === null)('a log on Kafka', () => {
  it.each(logCaseNames)('keeps what the poller writes, as the simulated log does: %s', async (name) => {
    await using log = kafkaLog(brokers ?? [])
    expect((await replay(logCases[name](), log)).difference).toBeNull()
  })
})
