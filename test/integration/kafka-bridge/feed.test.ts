/**
 * Tests streams of two nodes on Kafka: readers connect to either after each cut, while the polling node is killed and
 * restarts from its own disk.
 */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../../support/bridge-process.ts'
import { uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { freePorts } from '../../support/kafka/runtime/ports.ts'
import {
  comeToRest,
  createReaders,
  floodMs,
  startReaders,
  sumOf,
  wholeLog,
} from '../../support/streams/flood-readers.ts'
import { epochLog, judgeReaders } from '../../support/streams/reader-verdict.ts'

const brokers = await sharedBrokers()
const RUN = { seed: 3, readers: 60, cuts: 5, speed: 3 }
const KEPT = { missing: 0, announced: 0, foreign: 0, disordered: 0, untold: 0, broken: [] }

describe.skipIf(brokers === null)('two nodes on Kafka', () => {
  it('give each reader that moves between them exactly the matching events, in order, although one node is killed', async () => {
    using first = temporaryDirectory()
    using second = temporaryDirectory()
    const ports = await freePorts(2)
    const prefix = uniqueName('feed')
    const sandbox = await startSandbox(
      { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: RUN.seed, speed: RUN.speed },
      { clock: systemClock },
    )
    const [firstEnv = {}, secondEnv = {}] = [first, second].map(({ path }, at) =>
      bridgeEnv(sandbox, path, {
        BRIDGE_KAFKA_BROKERS: (brokers ?? []).join(','),
        BRIDGE_TOPIC_PREFIX: prefix,
        BRIDGE_UPSTREAM_PLAN: 'advanced',
        BRIDGE_BACKFILL: 'P1D',
        BRIDGE_HTTP_PORT: String(ports[at]),
        BRIDGE_ROLES: at === 0 ? 'all' : 'poller,api,feed',
      }),
    )
    const bridges = [await startBridge(firstEnv), await startBridge(secondEnv)]
    const readers = createReaders(
      RUN,
      bridges.map(({ ready }) => ready.http),
    )
    try {
      await startReaders(readers)
      await new Promise((resolve) => setTimeout(resolve, floodMs(RUN) / 3))
      await bridges[0]?.stop('SIGKILL')
      bridges[0] = await startBridge(firstEnv)
      const log = epochLog(await wholeLog(bridges[1]?.ready.http ?? '', sandbox))
      await comeToRest(readers, log)
      for (const reader of readers) reader.stop()
      expect(judgeReaders(readers, [log])).toMatchObject(KEPT)
      expect(sumOf(readers).cuts).toBe(RUN.readers * RUN.cuts)
      for (const bridge of bridges) expect(await bridge.stop()).toBe(0)
    } finally {
      for (const reader of readers) reader.stop()
      for (const bridge of bridges) await bridge.stop('SIGKILL')
      await sandbox.close()
    }
  }, 240_000)
})
