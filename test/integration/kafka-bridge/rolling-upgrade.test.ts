/** Tests that an earlier build and this one share a Kafka prefix: side by side, and with the lead going from one to the other and back. */
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { MINUTE_MS } from '../../../src/core/durations.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  type BridgeProcess,
  bridgeEnv,
  startBridge,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { type ApiEvent, eventually, getJson, pullAll } from '../../support/http/api-client.ts'
import { uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { freePorts } from '../../support/kafka/runtime/ports.ts'
import { earlierBuild, earlierCommits, setLayout } from '../../support/product/earlier-builds.ts'
import { readUpTo } from '../../support/product/market-reading.ts'
import { comeToRest, createReaders, startReaders } from '../../support/streams/flood-readers.ts'
import { epochLog, judgeReaders } from '../../support/streams/reader-verdict.ts'
import {
  askEndpoints,
  EVERY_EVENT,
  LOCAL_RECEIVERS,
  sequencesOf,
} from '../../support/webhooks/endpoint-api.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'
import { compare } from '../../support/worlds/completeness.ts'

const brokers = await sharedBrokers()
const KEPT = { missing: 0, announced: 0, foreign: 0, disordered: 0, untold: 0, repeats: 0, broken: [] }
const READERS = { seed: 6, readers: 8, cuts: 0, speed: 1 }
/**
 * Attempts that may be repeated: at each start and stop of a node beside another the endpoint's shard may get another owner,
 * and then at most `maxConcurrency` attempts, 8 by default, were in flight whose outcomes were not durable.
 */
const MOST_REPEATS = 4 * 8
/** Of the market's morning, at each step: less than two pages of items. */
const STEP_MS = 2 * MINUTE_MS

describe.skipIf(brokers === null)('two builds on one Kafka prefix', () => {
  it('lose nothing, and repeat nothing to readers, while the lead goes from the earlier build to this one and back', async () => {
    using build = earlierBuild(earlierCommits.last)
    await using receiver = await startReceiver()
    const sandbox = await startSandbox(
      { scenario: 'normal', plan: 'advanced', weeklyQuota: 1_000_000, seed: 4 },
      { clock: systemClock },
    )
    onTestFinished(() => sandbox.close())
    const prefix = uniqueName('rolling')
    const ports = await freePorts(2)
    const dataDirs = [temporaryDirectory(), temporaryDirectory()] as const
    onTestFinished(() => {
      for (const directory of dataDirs) directory[Symbol.dispose]()
    })
    const node = (at: 0 | 1, script?: string) => {
      const env = bridgeEnv(sandbox, dataDirs[at].path, {
        ...LOCAL_RECEIVERS,
        BRIDGE_KAFKA_BROKERS: (brokers ?? []).join(','),
        BRIDGE_TOPIC_PREFIX: prefix,
        BRIDGE_UPSTREAM_PLAN: 'advanced',
        BRIDGE_BACKFILL: 'PT1H',
        // On a busy machine, too, no attempt is cut: it would be repeated.
        BRIDGE_DRAIN_TIMEOUT: 'PT20S',
        BRIDGE_HTTP_PORT: String(ports[at]),
      })
      return async (): Promise<BridgeProcess> => {
        const bridge = await startBridge(env, ['run'], script)
        onTestFinished(async () => void (await bridge.stop('SIGKILL')))
        await eventually(
          () => fetch(`${bridge.ready.ops}/readyz`),
          ({ ok }) => ok,
          60_000,
        )
        return bridge
      }
    }
    const startEarlier = node(0, build.main)
    const startThis = node(1)
    const readers = createReaders(
      READERS,
      ports.map((port) => `http://127.0.0.1:${port}`),
    )
    onTestFinished(() => {
      for (const reader of readers) reader.stop()
    })

    const read: ApiEvent[] = []
    const goOn = async (leader: BridgeProcess, reading: BridgeProcess): Promise<void> => {
      await eventually(
        () => getJson<{ leader: { self: boolean } }>(`${leader.ready.http}/v1/status`),
        (status) => status.leader.self,
        60_000,
      )
      sandbox.moveForward(STEP_MS)
      await readUpTo(sandbox, reading.ready.http, read)
    }
    let earlier = await startEarlier()
    const hook = { url: receiver.url, filter: EVERY_EVENT }
    const { secret } = await askEndpoints(earlier.ready.http, 'POST', '', hook)
    await startReaders(readers)
    await goOn(earlier, earlier)
    const own = await startThis()
    await goOn(earlier, own)
    expect(await earlier.stop()).toBe(0)
    await goOn(own, own)
    // A replica whose layout it does not know is filled again.
    setLayout(join(dataDirs[0].path, 'copy.db'), 4)
    earlier = await startEarlier()
    await goOn(own, earlier)
    expect(await own.stop()).toBe(0)
    await goOn(earlier, earlier)

    const log = epochLog(await pullAll(earlier.ready.http))
    const { twice, holes } = compare([], read)
    expect({ twice, holes }).toEqual({ twice: [], holes: [] })
    expect(log.events.length).toBeGreaterThan(200)
    await comeToRest(readers, log)
    for (const reader of readers) reader.stop()
    expect(judgeReaders(readers, [log])).toMatchObject(KEPT)
    const received = await eventually(
      () => [...receiver.received],
      (got) => {
        const sequences = new Set(sequencesOf(got))
        return log.events.every(({ sequence }) => sequences.has(sequence))
      },
    )
    const sequences = sequencesOf(received)
    const ids = received.map(({ headers }) => headers['webhook-id'])
    const different = new Set(sequences).size
    // A repeated attempt has the id of the first one.
    expect(new Set(ids).size).toBe(different)
    expect(new Set(sequences.map((sequence, at) => `${sequence} ${ids[at]}`)).size).toBe(different)
    expect(sequences.length - different).toBeLessThanOrEqual(MOST_REPEATS)
    receiver.verify(secret)
    expect(await earlier.stop()).toBe(0)
  }, 300_000)
})
