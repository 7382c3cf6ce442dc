/**
 * The faults that operators must hear of, each played on an installation of its own: what is broken and mended again, and
 * the alerts that have to fire because of it. No others may.
 */
import type { FaultSetting } from '../../../src/sandbox/faults/fault-kinds.ts'
import { eventually } from '../http/api-client.ts'
import { freePorts } from '../kafka/runtime/ports.ts'
import { startSmallDisk } from '../small-disk.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../webhooks/endpoint-api.ts'
import { startInstallation } from './installation.ts'
import { publish } from './operate.ts'
import { type Brokers, disposedWith, type PlacedFault, startOnOwnBroker } from './placed-fault.ts'

/** How time runs: `play-faults.ts` says what the quick mode shortens. */
export type Mode = 'quick' | 'real'

export interface LiveFault {
  /** Also the name of its installation. */
  name: string
  /** What is done. */
  about: string
  /** The alerts that have to fire: each with the seconds until its condition holds. What it then waits is in the rules. */
  alerts: Readonly<Record<string, number>>
  /** Tickets that may fire too: they say why, or what else is wrong there, and how soon depends on what went before. */
  reasons?: readonly string[]
  /** Seconds for which it stays broken at least; with alerts it stays until they fire. */
  lastsSeconds: Readonly<Record<Mode, number>>
  /** Seconds after which no alert of it fires any more, from when it was mended; null: longer than the quick mode waits. */
  endsSeconds: Readonly<Record<Mode, number | null>>
  start(mode: Mode, kafka: Brokers): Promise<PlacedFault>
}

/** More than the 256 MB that `BridgeDiskLow` wants to be free. */
const DISK_BYTES = 320 * 1024 * 1024
/** A page of the plan `lite` has 50. */
const MORE_THAN_TWO_PAGES = 120
const ALWAYS = 1_000_000

export const liveFaults: readonly LiveFault[] = [
  {
    name: 'key-revoked',
    about: 'upstream answers 401; then the key is good again, and the process is restarted with it',
    alerts: { BridgeNoGoodPoll: 60, BridgeKeyRefused: 5 },
    lastsSeconds: { quick: 0, real: 0 },
    endsSeconds: { quick: 30, real: 60 },
    start: async () => upstreamFault('key-revoked', { kind: 'revoke-key', count: ALWAYS }, 'restart'),
  },
  {
    name: 'throttled',
    about: 'upstream answers 429 to everything for ten minutes',
    alerts: { BridgeNoGoodPoll: 60 },
    reasons: ['BridgeThrottled'],
    lastsSeconds: { quick: 0, real: 600 },
    // The bridge asks again by itself up to ten minutes later; the quick mode restarts it.
    endsSeconds: { quick: 30, real: 300 },
    start: async (mode) =>
      upstreamFault(
        'throttled',
        { kind: 'throttle-429', count: ALWAYS },
        mode === 'quick' ? 'restart' : 'wait',
      ),
  },
  {
    name: 'fills-fail',
    about: 'upstream answers 500 to every page of a fill, while polls are fine',
    alerts: { BridgeGapOpen: 10 },
    lastsSeconds: { quick: 0, real: 0 },
    // The next try at the gap is twice as far off each time, up to as long as the fault lasted.
    endsSeconds: { quick: 90, real: 960 },
    async start() {
      const installation = await startInstallation({
        name: 'fills-fail',
        sandbox: { plan: 'lite' },
        settings: { BRIDGE_UPSTREAM_PLAN: 'lite' },
      })
      const { sandbox } = installation
      return {
        ...disposedWith(installation),
        break() {
          sandbox.faults.add({ kind: 'status', status: 500, path: 'pageCursor=', count: ALWAYS })
          publish(installation, MORE_THAN_TWO_PAGES)
        },
        mend: () => void sandbox.faults.remove(null),
      }
    },
  },
  {
    name: 'malformed-items',
    about: 'upstream publishes items without identity or time',
    alerts: { BridgeItemsRejected: 5 },
    lastsSeconds: { quick: 0, real: 0 },
    // Its window of a quarter of an hour is never shortened.
    endsSeconds: { quick: null, real: 960 },
    async start() {
      const installation = await startInstallation({ name: 'malformed-items' })
      return {
        ...disposedWith(installation),
        break: () => void installation.sandbox.publish([{ headline: 'no guid' }, 17]),
        mend: () => {},
      }
    },
  },
  {
    name: 'disk-full',
    about:
      'not one byte fits on the volume of the data directory, while a webhook endpoint fails; then there is room again',
    alerts: { BridgeDiskLow: 5 },
    // Of the endpoint, a quarter of an hour after its first failure.
    reasons: ['BridgeWebhookLate'],
    // Long enough for all that follows: no good poll, an unknown outcome, stuck shards, not ready.
    lastsSeconds: { quick: 120, real: 660 },
    endsSeconds: { quick: 30, real: 60 },
    async start() {
      const disk = await startSmallDisk(DISK_BYTES)
      const installation = await startInstallation({ name: 'disk-full', disk, settings: LOCAL_RECEIVERS })
      const [node] = installation.nodes
      const [closed = 0] = await freePorts(1)
      await askEndpoints(node?.process().ready.http ?? '', 'POST', '', { url: `http://127.0.0.1:${closed}/` })
      publish(installation)
      await eventually(
        async () => (await fetch(`http://${node?.target}/metrics`)).text(),
        (text) => /^bridge_webhook_failing_endpoints 1$/m.test(text),
      )
      return {
        ...disposedWith(installation, disk),
        break: () => disk.fill(),
        mend: () => disk.makeRoom(),
      }
    },
  },
  {
    name: 'leader-killed',
    about: 'kill -9 of the leader on Kafka, beside a standby; then it is started again',
    alerts: { BridgeDown: 5 },
    lastsSeconds: { quick: 0, real: 0 },
    // In real time it is told of as long as a fifth of five minutes was spent down.
    endsSeconds: { quick: 30, real: 330 },
    async start(_mode, kafka) {
      const { brokers } = await kafka.shared()
      const installation = await startInstallation({ name: 'leader-killed', brokers, nodes: 2 })
      const leader = await installation.leader()
      return {
        ...disposedWith(installation),
        break: async () => void (await leader.process().stop('SIGKILL')),
        mend: () => leader.restart(),
      }
    },
  },
  {
    name: 'broker-stopped',
    about: 'the only broker is stopped for two minutes, beside a leader and a standby',
    alerts: { BridgeLeaderCount: 15 },
    reasons: ['BridgeKafkaErrors'],
    lastsSeconds: { quick: 0, real: 120 },
    endsSeconds: { quick: 60, real: 60 },
    async start(_mode, kafka) {
      const { installation, broker } = await startOnOwnBroker('broker-stopped', kafka, 2)
      return {
        ...disposedWith(installation),
        break: () => broker.kill(),
        mend: () => broker.start(),
      }
    },
  },
  {
    name: 'leader-frozen',
    about: 'SIGSTOP of the leader on Kafka for 25 s, beside a standby, then SIGCONT',
    alerts: {},
    lastsSeconds: { quick: 25, real: 25 },
    endsSeconds: { quick: 0, real: 0 },
    async start(_mode, kafka) {
      const { brokers } = await kafka.shared()
      const installation = await startInstallation({ name: 'leader-frozen', brokers, nodes: 2 })
      const leader = await installation.leader()
      return {
        ...disposedWith(installation),
        break: () => void leader.process().child.kill('SIGSTOP'),
        mend: () => void leader.process().child.kill('SIGCONT'),
      }
    },
  },
  {
    name: 'target-gone',
    about: 'the only process ends and service discovery forgets it; then it comes back',
    alerts: { BridgeLeaderCount: 5 },
    lastsSeconds: { quick: 0, real: 0 },
    endsSeconds: { quick: 30, real: 60 },
    async start() {
      const installation = await startInstallation({ name: 'target-gone' })
      const [node] = installation.nodes
      if (node === undefined) throw new Error('the installation has no process')
      return {
        ...disposedWith(installation),
        isForgotten: true,
        break: async () => void (await node.process().stop('SIGKILL')),
        mend: () => node.restart(),
      }
    },
  },
]

/** An upstream that answers every request with this fault. */
async function upstreamFault(
  name: string,
  setting: FaultSetting,
  afterwards: 'restart' | 'wait',
): Promise<PlacedFault> {
  const installation = await startInstallation({ name })
  return {
    ...disposedWith(installation),
    break: () => void installation.sandbox.faults.add(setting),
    async mend() {
      installation.sandbox.faults.remove(null)
      if (afterwards === 'restart') await installation.nodes[0]?.restart()
    },
  }
}
