/**
 * Measures the product as a process: from start to ready over a large log, and its memory in the demo. Each figure
 * comes from its own processes, started as an operator would.
 */
import { resolve } from 'node:path'
import { systemClock } from '../src/lifecycle/clock.ts'
import { openSqliteLog } from '../src/log-embedded/log.ts'
import { bridgeEnv, startBridge, startCommand, temporaryDirectory } from '../test/support/bridge-process.ts'
import { eventually, getJson } from '../test/support/http/api-client.ts'
import { eventAt } from '../test/support/store.ts'
import type { Figure } from './figures.ts'
import { residentMb } from './support/process-usage.ts'

const BIN = resolve(import.meta.dirname, '../bin/bridge.js')
const EVENTS = 500_000
const RUNS = 5
/** Nothing listens there: the start does not wait for upstream. */
const NO_UPSTREAM = { url: 'http://127.0.0.1:9/v2', key: 'none' }

/** From spawn to the ready line with 500,000 events on disk. */
export async function startFigures(): Promise<Figure[]> {
  using directory = temporaryDirectory()
  await fill(directory.path)
  const seconds: number[] = []
  const empty: number[] = []
  for (let run = 0; run < RUNS; run++) {
    seconds.push(await secondsToReady(directory.path))
    using fresh = temporaryDirectory()
    empty.push(await secondsToReady(fresh.path))
  }
  const baselines = [{ name: 'the start with an empty log', values: empty }]
  return [
    {
      name: 'start to ready, 500,000 events on disk',
      unit: 's',
      values: seconds,
      goal: { atMost: 1.5 },
      baselines,
    },
  ]
}

async function fill(path: string): Promise<void> {
  const { log } = openSqliteLog({ dataDir: path, nativeKind: 'Native', clock: systemClock })
  const { signal } = new AbortController()
  const writer = await log.claim(await log.campaign(signal), signal)
  for (let first = 1; first <= EVENTS; first += 1000) {
    await writer.commit({ events: Array.from({ length: 1000 }, (_, index) => eventAt(first + index)) })
  }
  await log.close()
}

async function secondsToReady(path: string): Promise<number> {
  const startMs = performance.now()
  const bridge = await startBridge(bridgeEnv(NO_UPSTREAM, path))
  const seconds = (performance.now() - startMs) / 1000
  await bridge.stop('SIGKILL')
  return seconds
}

/** Resident memory of the whole demo, sandbox included, after 500 items, started as `npm run demo` starts it. */
export async function demoFigures(): Promise<Figure[]> {
  const env = { BRIDGE_ADMIN_TOKEN: 'test-admin-token-0123456789', MALLOC_ARENA_MAX: '1' }
  // It strips the types of all sources, and keeps the result.
  await startCommand(['demo', '--help'], env, BIN).ended
  const values: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const demo = await startBridge(env, ['demo'], BIN)
    await eventually(
      () => getJson<{ log: { latest: number } }>(`${demo.ready.http}/v1/status`),
      (status) => status.log.latest >= 500,
      120_000,
    )
    values.push(residentMb(demo.pid))
    await demo.stop()
  }
  return [{ name: 'demo, resident after 500 items', unit: 'MB', values, goal: { atMost: 150 } }]
}
