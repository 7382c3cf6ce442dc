/**
 * Measures the product as a process: from start to ready over a large log, and its memory in the demo. Each figure
 * comes from its own processes, started as an operator would.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemClock } from '../src/lifecycle/clock.ts'
import { openSqliteLog } from '../src/log-embedded/log.ts'
import {
  bridgeEnv,
  followProcess,
  readyLine,
  startBridge,
  temporaryDirectory,
} from '../test/support/bridge-process.ts'
import { eventually, getJson } from '../test/support/http/api-client.ts'
import { eventAt } from '../test/support/store.ts'
import type { Figure } from './figures.ts'
import { residentMb } from './support/process-usage.ts'

const ROOT = resolve(import.meta.dirname, '..')
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
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: { demo: string }
  }
  const values: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const child = spawn('sh', ['-c', scripts.demo], {
      cwd: ROOT,
      env: {
        PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`,
        HOME: process.env.HOME,
        BRIDGE_ADMIN_TOKEN: 'test-admin-token-0123456789',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const demo = followProcess(child)
    const { http } = await readyLine(demo)
    await eventually(
      () => getJson<{ log: { latest: number } }>(`${http}/v1/status`),
      (status) => status.log.latest >= 500,
      120_000,
    )
    values.push(residentMb(child.pid ?? 0))
    await demo.stop()
  }
  return [{ name: 'demo, resident after 500 items', unit: 'MB', values, goal: { atMost: 150 } }]
}
