/** Tests the status messages of the log on a real broker: the newest first, then each new one, also after an outage. */
import { afterEach, describe, expect, it } from 'vitest'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'

const brokers = await sharedBrokers()
const logs = createLogKeeper()
afterEach(() => logs.closeAll())

describe.skipIf(brokers === null)('status messages', () => {
  it('begin with the newest that are kept, go on with new ones, and end with the signal', async () => {
    const options = kafkaLogOptions(brokers ?? [])
    const [leader, reader] = [logs.open(options), logs.open(options)]
    for (let count = 1; count <= 70; count++) await leader.publishStatus?.({ type: 'heartbeat', count })
    const stop = new AbortController()
    const counts: number[] = []
    let last: Promise<void> | undefined
    for await (const texts of reader.followStatus?.(stop.signal) ?? []) {
      for (const text of texts) counts.push((JSON.parse(text) as { count: number }).count)
      if (counts.at(-1) === 70) last = leader.publishStatus?.({ type: 'heartbeat', count: 71 })
      if (counts.at(-1) === 71) stop.abort()
    }
    // The reader may have it before the writer knows.
    await last
    // A batch of records may hold some from before the start.
    expect(counts.length).toBeLessThanOrEqual(71)
    expect(counts.slice(-65)).toEqual(Array.from({ length: 65 }, (_, index) => index + 7))
  })

  it('are none in an unused log, whose first one comes when it is published', async () => {
    const log = logs.open(kafkaLogOptions(brokers ?? []))
    const stop = new AbortController()
    const first = (async () => {
      for await (const [text] of log.followStatus?.(stop.signal) ?? []) return text
    })()
    await log.publishStatus?.({ type: 'heartbeat', count: 1 })
    expect(await first).toBe('{"type":"heartbeat","count":1}')
    stop.abort()
  })
})
