/**
 * Measures the CPU time of idle bridges: a leader, a standby and a reader on their own broker, with a market without
 * news. It counts user and system time of each process, which a busy machine distorts less than wall-clock time. The
 * leader's polls are included.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../src/lifecycle/clock.ts'
import { startSandbox } from '../src/sandbox/sandbox.ts'
import {
  type BridgeProcess,
  bridgeEnv,
  startBridge,
  temporaryDirectory,
} from '../test/support/bridge-process.ts'
import { startCluster } from '../test/support/kafka/cluster.ts'
import { findRuntime } from '../test/support/kafka/runtime/find-runtime.ts'
import type { Figure } from './figures.ts'
import { cpuSeconds } from './support/process-usage.ts'

const RUNS = 3
const WATCHED_MS = 60_000
/** After the start, until the group is at rest and everything that is compiled at first use is compiled. */
const SETTLE_MS = 20_000

/** Share of a core that each process takes in a minute; throws where no Kafka can be run here. */
export async function idleFigures(runs: number = RUNS): Promise<Figure[]> {
  const found = await findRuntime(process.env)
  if ('missing' in found) throw new Error(found.missing)
  await using cluster = await startCluster({ runtime: found.runtime })
  const sandbox = await startSandbox({ plan: 'advanced', seed: 1 }, { clock: systemClock })
  const directories = [temporaryDirectory(), temporaryDirectory(), temporaryDirectory()] as const
  const start = (place: number, roles: string): Promise<BridgeProcess> =>
    startBridge(
      bridgeEnv(sandbox, directories[place]?.path ?? '', {
        BRIDGE_ROLES: roles,
        BRIDGE_KAFKA_BROKERS: cluster.brokers.join(','),
        BRIDGE_UPSTREAM_PLAN: 'advanced',
        BRIDGE_UPSTREAM_WEEKLY_QUOTA: '3500',
      }),
    )
  const leader = await start(0, 'all')
  await pause(SETTLE_MS / 2)
  const processes = { leader, standby: await start(1, 'all'), reader: await start(2, 'api,feed') }
  try {
    await pause(SETTLE_MS)
    return await watch(processes, runs)
  } finally {
    await Promise.all(Object.values(processes).map((process) => process.stop()))
    await sandbox.close()
    for (const directory of directories) directory[Symbol.dispose]()
  }
}

async function watch(processes: Record<string, BridgeProcess>, runs: number): Promise<Figure[]> {
  const figures: Figure[] = Object.keys(processes).map((name) => ({
    name: `idle ${name}, share of a core`,
    unit: '%',
    values: [],
    goal: { atMost: 1 },
  }))
  const used = (): number[] => Object.values(processes).map(({ pid }) => cpuSeconds(pid))
  for (let run = 0; run < runs; run++) {
    const before = used()
    const startMs = performance.now()
    await pause(WATCHED_MS)
    const seconds = (performance.now() - startMs) / 1000
    for (const [n, after] of used().entries()) {
      figures[n]?.values.push(((after - (before[n] ?? 0)) / seconds) * 100)
    }
  }
  return figures
}
