/**
 * Measures how long a warm standby needs to take over when the leader is killed between polls, killed during a commit,
 * or stopped: `npm run bench -- failover [runs]`. It runs on the plan `advanced` with its own broker and each bridge
 * in its own process. The phases are those of the successor's log lines.
 */
import { resolve } from 'node:path'
import { systemClock } from '../src/lifecycle/clock.ts'
import { kafkaSessions } from '../src/log-kafka/client/client.ts'
import type { BridgeProcess } from '../test/support/bridge-process.ts'
import { startCluster } from '../test/support/kafka/cluster.ts'
import { findRuntime } from '../test/support/kafka/runtime/find-runtime.ts'
import { quantile } from './figures.ts'
import { type Pair, startPair } from './support/leader-and-standby.ts'

const RUNS = 20
/** The plan's own: a poll every 216 s. */
const ADVANCED_QUOTA = 3_500
/** A poll every second, so that the commit to be interrupted happens soon. */
const QUOTA_FOR_SECONDS = 1_000_000
const MORTAL = resolve(import.meta.dirname, 'mortal-bridge.ts')

/** Milliseconds from the leader's end to each step of its successor. */
interface Failover {
  /** The consumer group notifies the standby that a member is missing. */
  missed: number
  /** The group has assigned it the partition. */
  won: number
  /** Every earlier writer is fenced, and the state they left is read. */
  claimed: number
  /** It sends its first poll. */
  asked: number
  /** It receives the response to the poll. */
  answered: number
  /** A `read_committed` reader has the item that this poll brought. */
  read: number
}

/** A way in which a leader ends, with its goals. */
interface Case {
  title: string
  weeklyQuota: number
  script?: string
  /** Ends the leader of a pair at rest; resolves with the guid that the successor's first poll brings, and the time. */
  end(pair: Pair, brokers: readonly string[]): Promise<{ guid: string; endedMs: number }>
  goals: readonly { step: keyof Failover; share: number; atMostMs: number; meaning: string }[]
}

const cases: readonly Case[] = [
  {
    title: 'kill -9 of the leader between polls',
    weeklyQuota: ADVANCED_QUOTA,
    async end(pair) {
      const guid = pair.publish()
      return { guid, endedMs: await signal(pair.leader, 'SIGKILL') }
    },
    goals: [{ step: 'read', share: 0.99, atMostMs: 8_000, meaning: 'first committed poll, read' }],
  },
  {
    title: 'kill -9 of the leader in a commit: records in `all`, transaction open',
    weeklyQuota: QUOTA_FOR_SECONDS,
    script: MORTAL,
    async end(pair, brokers) {
      const guid = pair.publish()
      const endedMs = await signal(pair.leader, 'SIGUSR2')
      await requireOpen(brokers, pair.topic)
      return { guid, endedMs }
    },
    goals: [
      { step: 'read', share: 0.99, atMostMs: 8_000, meaning: 'first committed poll, read' },
      { step: 'read', share: 1, atMostMs: 9_000, meaning: 'longest wait of a reader' },
    ],
  },
  {
    title: 'SIGTERM to the leader',
    weeklyQuota: ADVANCED_QUOTA,
    async end(pair) {
      const guid = pair.publish()
      const endedMs = systemClock.now()
      await signal(pair.leader, 'SIGTERM')
      return { guid, endedMs }
    },
    goals: [{ step: 'asked', share: 0.95, atMostMs: 1_000, meaning: 'first poll of the successor' }],
  },
]

/** The tables, a line each. Throws where no Kafka can be run here. */
export async function failoverTable(runs = RUNS): Promise<string[]> {
  const found = await findRuntime(process.env)
  if ('missing' in found) throw new Error(found.missing)
  await using cluster = await startCluster({ runtime: found.runtime })
  const lines = [
    `${runs} runs each, plan advanced, warm standby, ${found.runtime.description}; ms since the leader's end`,
  ]
  for (const one of cases) {
    const { brokers } = cluster
    await using pair = await startPair({ brokers, ...one })
    const failovers: Failover[] = []
    for (let run = 0; run < runs; run++) {
      const { standby } = pair
      const { guid, endedMs } = await one.end(pair, brokers)
      const readMs = await pair.read(guid)
      failovers.push(stepsOf(standby, endedMs, readMs))
      await pair.renew()
    }
    lines.push('', one.title, ...tableOf(failovers), ...one.goals.map((goal) => verdict(failovers, goal)))
  }
  return lines
}

/** The machine's time at which the process had ended. */
async function signal(bridge: BridgeProcess, name: NodeJS.Signals): Promise<number> {
  const gone = new Promise<number>((done) => bridge.child.once('exit', () => done(systemClock.now())))
  bridge.child.kill(name)
  return gone
}

/** The leader must have died with its records written and not committed, else nothing was measured. */
async function requireOpen(brokers: readonly string[], topic: string): Promise<void> {
  const silent = (): void => undefined
  const logger = { debug: silent, info: silent, warn: silent, error: silent }
  const connection = { brokers, clientId: 'bench', tls: null, sasl: null }
  const session = kafkaSessions(connection, logger)()
  try {
    const unstable = await session.partitions.unstable([topic])
    if (unstable.length === 0) throw new Error('the leader has not died in a commit')
  } finally {
    session.end()
  }
}

function stepsOf(successor: BridgeProcess, endedMs: number, readMs: number): Failover {
  const lines = successor
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { time: string; event: string; durationMs?: number })
    .map(({ time, ...line }) => ({ ...line, sinceMs: Date.parse(time) - endedMs }))
  const won = lines.findIndex(({ event }) => event === 'leader.elected')
  const step = (event: string, from = won): { sinceMs: number; durationMs?: number } => {
    const line = lines.slice(from).find((one) => one.event === event)
    if (won < 0 || line === undefined) throw new Error(`the successor never logged ${event}`)
    return line
  }
  const poll = step('poll.done')
  return {
    missed:
      lines.slice(0, won).findLast(({ event }) => event === 'leader.rebalancing')?.sinceMs ?? Number.NaN,
    won: step('leader.elected').sinceMs,
    claimed: step('log.claimed').sinceMs,
    asked: poll.sinceMs - (poll.durationMs ?? 0),
    answered: poll.sinceMs,
    read: readMs - endedMs,
  }
}

const steps: Record<keyof Failover, string> = {
  missed: 'group detects the lost leader',
  won: 'group has elected the successor',
  claimed: 'predecessor fenced, state read',
  asked: 'first poll sent',
  answered: 'first response received',
  read: 'a reader has its item',
}

function tableOf(failovers: readonly Failover[]): string[] {
  const head = ['', 'median', 'p95', 'p99', 'max', 'of it, median'].map((cell, n) =>
    n === 0 ? cell.padEnd(36) : cell.padStart(9),
  )
  const names = Object.keys(steps) as (keyof Failover)[]
  return [
    head.join(' '),
    ...names.map((name, n) => {
      const before = names[n - 1]
      const own = failovers.map((one) => one[name] - (before === undefined ? 0 : one[before]))
      const all = failovers.map((one) => one[name])
      const cells = [...[0.5, 0.95, 0.99, 1].map((share) => quantile(all, share)), quantile(own, 0.5)]
      return [steps[name].padEnd(36), ...cells.map((ms) => String(Math.round(ms)).padStart(9))].join(' ')
    }),
  ]
}

function verdict(
  failovers: readonly Failover[],
  { step, share, atMostMs, meaning }: Case['goals'][number],
): string {
  const value = quantile(
    failovers.map((one) => one[step]),
    share,
  )
  const name = share === 1 ? 'max' : `p${share * 100}`
  return `${meaning}: ${name} ${Math.round(value)} ms, goal at most ${atMostMs} ms: ${value <= atMostMs ? 'met' : 'MISSED'}`
}
