/**
 * Tests the Kafka log behind a faulty proxy and on a crashing broker: nothing is lost, duplicated or visible too
 * early.
 */
import { describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/lifecycle/clock.ts'
import { claimed, followed, idsOf, sampleEvent, sampleEvents } from '../../log/samples.ts'
import { kafkaRuntime } from '../../support/kafka/for-tests.ts'
import { kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { apiKeys } from '../../support/kafka/proxy/frames.ts'
import { useProxiedCluster } from '../../support/kafka/proxy/proxied-cluster.ts'

const runtime = await kafkaRuntime()
/** Below the ten seconds after which a broker aborts a transaction by itself. */
const COMMIT_DEADLINE_MS = 8_000

describe.skipIf(runtime === null)('the Kafka log', () => {
  const kafka = useProxiedCluster(runtime)
  const behindProxy = () => kafkaLogOptions(kafka.behindProxy)
  const direct = (prefix: string) => kafkaLogOptions(kafka.cluster.brokers, prefix)

  it('treats a commit whose response was lost as committed', async () => {
    const log = kafka.logs.open(behindProxy())
    const writer = await claimed(log)
    const drop = kafka.proxy.dropReplies(apiKeys.endTxn)
    const unknown = expect(
      writer.commit({ events: sampleEvents(1, 2), head: { cursor: 'c' } }),
    ).rejects.toMatchObject({
      code: 'log_unknown',
    })
    await drop.caught()
    drop.lift()
    kafka.proxy.cut()
    await unknown
    const next = await claimed(log)
    expect(next.state.head).toMatchObject({ sequence: 2, cursor: 'c' })
    await next.commit({ events: [sampleEvent(3)] })
    expect(idsOf(await followed(log, 0, 3))).toEqual(idsOf(sampleEvents(1, 3)))
  })

  it('gives up a commit without a response before the broker’s timeout', async () => {
    const deadlines: (() => void)[] = []
    const clock: Clock = {
      now: systemClock.now,
      after(delayMs, callback) {
        if (delayMs !== COMMIT_DEADLINE_MS) return systemClock.after(delayMs, callback)
        deadlines.push(callback)
        return () => undefined
      },
    }
    const log = kafka.logs.open({ ...behindProxy(), clock })
    const writer = await claimed(log)
    const hole = kafka.proxy.blackHole()
    const unknown = expect(writer.commit({ events: [sampleEvent(1)] })).rejects.toMatchObject({
      code: 'log_unknown',
      message: expect.stringContaining('no answer within 8 s'),
    })
    await hole.caught()
    for (const pass of deadlines) pass()
    await unknown
    hole.lift()
    const next = await claimed(log)
    expect(next.state.head.sequence).toBe(0)
    await next.commit({ events: [sampleEvent(2)] })
    expect(idsOf(await followed(log, 0, 1))).toEqual(idsOf([sampleEvent(2)]))
  })

  it('waits for Kafka at the start, says why, and begins once it is available', async () => {
    const away = kafka.proxy.refuse()
    const log = kafka.logs.open(behindProxy())
    const term = log.campaign(new AbortController().signal)
    await away.caught()
    await expect.poll(() => log.waitingFor, { timeout: 30_000 }).toContain('creating topics failed')
    away.lift()
    await term
    expect(log.waitingFor).toBeNull()
    expect((await claimed(log)).state.head.sequence).toBe(0)
  })

  it('continues with everything after its broker was killed and restarted', async () => {
    const [node] = kafka.cluster.nodes
    const log = kafka.logs.open(direct('killed'))
    const table = log.table<number>('t')
    await table.put('a', 1)
    const writer = await claimed(log)
    await writer.commit({ events: [sampleEvent(1)] })
    const seen = followed(log, 0, 2)
    seen.catch(() => undefined)
    await node?.kill()
    await expect(writer.commit({ events: [sampleEvent(2)] })).rejects.toMatchObject({ code: 'log_unknown' })
    await node?.start()
    const next = await claimed(log)
    expect(next.state.head.sequence).toBe(1)
    await next.commit({ events: [sampleEvent(3)] })
    expect(idsOf(await seen)).toEqual(idsOf([sampleEvent(1), sampleEvent(3)]))
    await table.put('a', 2)
    expect(await table.load()).toEqual(new Map([['a', 2]]))
  })
})
