/**
 * `npm run bench -- webhooks`: what a delivery costs and how long it takes, through a process of the product on the embedded
 * log, beside a plain loop in a process of its own; and what endpoints that hang, refuse and drip do to the others. Sender
 * and receivers have a core each. Owns the runs and the goals.
 */
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../src/lifecycle/clock.ts'
import { draftDay } from '../src/sandbox/draft.ts'
import { createIssuers } from '../src/sandbox/issuers.ts'
import { itemJson } from '../src/sandbox/item-json.ts'
import { type Sandbox, startSandbox } from '../src/sandbox/sandbox.ts'
import {
  ADMIN_TOKEN,
  type BridgeProcess,
  bridgeEnv,
  startBridge,
  temporaryDirectory,
} from '../test/support/bridge-process.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../test/support/endpoint-api.ts'
import { type Figure, formatFigure } from './figures.ts'
import { cpuSeconds, peakMb } from './support/process-usage.ts'
import type { SinkReport } from './support/webhook-sink.ts'

const RUNS = 3
const ENDPOINTS = 1000
const EVENTS = 500
/** Of an event as it is sent. */
const EVENT_BYTES = 2400
/** What an event of the sandbox has without padding, about. */
const USUAL_BYTES = 1500
/** Endpoints of the run with ill ones, and their manners: a fifth hangs, a tenth refuses, a twentieth drips. */
const MIXED = 100
const MANNERS = [...many('hang', 20), ...many('fail', 10), ...many('drip', 5), ...many('ok', 65)]
const MIXED_EVENTS = 200
/** Between two events of that run. */
const MIXED_PAUSE_MS = 100
const REST_MS = 3_000
const LONGEST_MS = 600_000
const SENDER_CORE = '0'
const SINK_CORE = '1'
/** A day of its own: the market's own days stay as they are. */
const DAY = '2026-01-06'

/** The lines to print. */
export async function webhookLines(runs: number = RUNS): Promise<string[]> {
  const [bridge, plain, healthy, mixed]: Burst[][] = [[], [], [], []]
  for (let run = 1; run <= runs; run++) {
    bridge?.push(await burstThroughBridge(run))
    plain?.push(await burstThroughLoop(run))
    healthy?.push(await trickle(run, many('ok', MIXED)))
    mixed?.push(await trickle(run, MANNERS))
  }
  return figuresOf({ bridge, plain, healthy, mixed } as Record<
    'bridge' | 'plain' | 'healthy' | 'mixed',
    Burst[]
  >)
}

/** What became of one burst. */
interface Burst extends SinkReport {
  cpuMicros: number
  peakMb: number
}

function figuresOf(came: Record<'bridge' | 'plain' | 'healthy' | 'mixed', Burst[]>): string[] {
  const of = (name: keyof typeof came, value: (burst: Burst) => number): number[] => came[name].map(value)
  const seconds = ({ firstHeldMs, lastMs }: Burst): number => (lastMs - firstHeldMs) / 1000
  const a = { name: 'a plain loop' }
  const figures: Figure[] = [
    {
      name: `${EVENTS} events to ${ENDPOINTS} endpoints, until the last came`,
      unit: 's',
      values: of('bridge', seconds),
      goal: { atMost: 60 },
      baseline: { ...a, values: of('plain', seconds) },
    },
    {
      name: 'CPU of the sender for a delivery',
      unit: 'µs',
      values: of('bridge', ({ cpuMicros, received }) => cpuMicros / received),
      goal: { atMost: 110 },
      baseline: { ...a, values: of('plain', ({ cpuMicros, received }) => cpuMicros / received) },
    },
    {
      name: 'first delivery of every endpoint, the slowest',
      unit: 'ms',
      values: of('bridge', ({ slowestFirstMs }) => slowestFirstMs),
      goal: { atMost: 1000 },
    },
    { name: 'peak memory of the process', unit: 'MB', values: of('bridge', (burst) => burst.peakMb) },
    {
      name: `${MIXED} endpoints, a third of them ill: healthy p99`,
      unit: 'ms',
      values: of('mixed', ({ p99 }) => p99),
      baseline: { name: 'that of all healthy', values: of('healthy', ({ p99 }) => p99) },
    },
  ]
  return figures.map(formatFigure)
}

/** All events at once, to endpoints that all answer. */
async function burstThroughBridge(seed: number): Promise<Burst> {
  await using stack = new AsyncDisposableStack()
  const sink = stack.use(await startSink())
  const { bridge, sandbox } = await startSender(stack, seed)
  await register(bridge, sink, many('ok', ENDPOINTS))
  return await measure(bridge.pid, sink, async () => {
    sandbox.publish(items(seed, EVENTS))
    await came(sink, EVENTS * ENDPOINTS)
  })
}

/** The same through the plain loop, which follows a bridge without endpoints. */
async function burstThroughLoop(seed: number): Promise<Burst> {
  await using stack = new AsyncDisposableStack()
  const sink = stack.use(await startSink())
  const { bridge, sandbox, directory } = await startSender(stack, seed)
  const list = join(directory, 'endpoints')
  writeFileSync(
    list,
    many('ok', ENDPOINTS)
      .map((manner, place) => `${sink.url}/${manner}/${place}`)
      .join('\n'),
  )
  const loop = spawn(process.execPath, [join(import.meta.dirname, 'plain-webhooks.ts')], {
    env: { ...process.env, BRIDGE_URL: bridge.ready.http, BRIDGE_TOKEN: ADMIN_TOKEN, ENDPOINTS: list },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  stack.defer(() => void loop.kill('SIGKILL'))
  await once(loop.stdout, 'data')
  pin(loop.pid ?? 0, SENDER_CORE)
  return await measure(loop.pid ?? 0, sink, async () => {
    sandbox.publish(items(seed, EVENTS))
    await came(sink, EVENTS * ENDPOINTS)
  })
}

/** Events one by one, to endpoints of these manners; what counts is when they are with those that answer. */
async function trickle(seed: number, manners: readonly string[]): Promise<Burst> {
  await using stack = new AsyncDisposableStack()
  const sink = stack.use(await startSink())
  const { bridge, sandbox } = await startSender(stack, seed)
  await register(bridge, sink, manners)
  const all = items(seed, MIXED_EVENTS)
  const healthy = manners.filter((manner) => manner === 'ok').length
  return await measure(bridge.pid, sink, async () => {
    for (const item of all) {
      sandbox.publish([item])
      await wait(MIXED_PAUSE_MS)
    }
    await came(sink, MIXED_EVENTS * healthy)
  })
}

async function measure(pid: number, sink: Sink, work: () => Promise<void>): Promise<Burst> {
  await wait(REST_MS)
  await sink.report()
  const before = cpuSeconds(pid)
  await work()
  const cpuMicros = (cpuSeconds(pid) - before) * 1e6
  return { ...(await sink.report()), cpuMicros, peakMb: peakMb(pid) }
}

/** A market without news of its own, and a bridge that polls it each second. */
async function startSender(
  stack: AsyncDisposableStack,
  seed: number,
): Promise<{ bridge: BridgeProcess; sandbox: Sandbox; directory: string }> {
  const directory = stack.use(temporaryDirectory())
  const sandbox = await startSandbox(
    { plan: 'ultimate', weeklyQuota: 1_000_000, seed },
    { clock: systemClock },
  )
  stack.defer(() => sandbox.close())
  const bridge = await startBridge(
    bridgeEnv(sandbox, directory.path, { BRIDGE_UPSTREAM_PLAN: 'ultimate', ...LOCAL_RECEIVERS }),
  )
  stack.defer(async () => void (await bridge.stop('SIGKILL')))
  pin(bridge.pid, SENDER_CORE)
  return { bridge, sandbox, directory: directory.path }
}

async function register(bridge: BridgeProcess, sink: Sink, manners: readonly string[]): Promise<void> {
  for (const [place, manner] of manners.entries())
    await askEndpoints(bridge.ready.http, 'POST', '', { url: `${sink.url}/${manner}/${place}` })
}

function items(seed: number, count: number): object[] {
  const issuers = createIssuers(seed)
  const drafts = draftDay(
    { seed, issuers },
    DAY,
    Array.from({ length: count }, () => 12 * 3_600),
  )
  const context = { issuers, nativeKind: 'Native', documentsUrl: 'http://documents.test' }
  const padding = 'x'.repeat(EVENT_BYTES - USUAL_BYTES)
  return drafts.map((draft) => ({
    ...(JSON.parse(itemJson(draft, context)) as object),
    timestamp: new Date(systemClock.now()).toISOString(),
    padding,
  }))
}

interface Sink extends Disposable {
  url: string
  /** What came since the last report. */
  report(): Promise<SinkReport>
  count(): Promise<number>
}

async function startSink(): Promise<Sink> {
  const child = fork(join(import.meta.dirname, 'support/webhook-sink.ts'))
  pin(child.pid ?? 0, SINK_CORE)
  const { port } = await heard<{ port: number }>(child)
  const ask = <T>(word: string): Promise<T> => {
    const answer = heard<T>(child)
    child.send(word)
    return answer
  }
  return {
    url: `http://127.0.0.1:${port}`,
    report: () => ask('report'),
    count: async () => (await ask<{ received: number }>('count')).received,
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}

async function heard<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, 'message')) as [T]
  return message
}

/** Resolves when so many deliveries came since the last report. */
async function came(sink: Sink, count: number): Promise<void> {
  const deadline = performance.now() + LONGEST_MS
  for (let received = 0; received < count; received = await sink.count()) {
    if (performance.now() > deadline) throw new Error(`${received} of ${count} deliveries came in time`)
    await wait(100)
  }
}

/** Every thread of it, from now on. */
function pin(pid: number, core: string): void {
  execFileSync('taskset', ['-a', '-c', '-p', core, String(pid)], { stdio: 'ignore' })
}

function many(manner: string, count: number): string[] {
  return Array.from({ length: count }, () => manner)
}
