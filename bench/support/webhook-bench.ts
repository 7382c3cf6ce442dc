/**
 * Starts a bridge and a webhook receiver on a core each, creates endpoints, and measures a burst of events, for the
 * webhook benches.
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { createIssuers } from '../../src/sandbox/market/issuers.ts'
import { itemJson } from '../../src/sandbox/market/item-json.ts'
import { templatesOf } from '../../src/sandbox/market/item-template.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import {
  type BridgeProcess,
  bridgeEnv,
  startBridge,
  temporaryDirectory,
} from '../../test/support/bridge-process.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../test/support/webhooks/endpoint-api.ts'
import { cpuSeconds, peakMb } from './process-usage.ts'
import type { SinkReport } from './webhook-sink.ts'

/** Of an event as it is sent. */
const EVENT_BYTES = 2400
/** What an event of the sandbox has without padding, about. */
const USUAL_BYTES = 1500
const LONGEST_MS = 600_000
const REST_MS = 3_000
/** The core of whatever sends. */
export const SENDER_CORE = '0'
const SINK_CORE = '1'
/** A day of its own: the market's own days stay as they are. */
const DAY = '2026-01-06'

/** A market without news of its own, and a bridge with such settings besides that polls it each second. */
export async function startSender(
  stack: AsyncDisposableStack,
  seed: number,
  extra: Record<string, string> = {},
): Promise<{ bridge: BridgeProcess; sandbox: Sandbox; directory: string }> {
  const directory = stack.use(temporaryDirectory())
  const sandbox = await startSandbox(
    { plan: 'ultimate', weeklyQuota: 1_000_000, seed },
    { clock: systemClock },
  )
  stack.defer(() => sandbox.close())
  const bridge = await startBridge(
    bridgeEnv(sandbox, directory.path, { BRIDGE_UPSTREAM_PLAN: 'ultimate', ...LOCAL_RECEIVERS, ...extra }),
  )
  stack.defer(async () => void (await bridge.stop('SIGKILL')))
  await ready(bridge)
  pin(bridge.pid, SENDER_CORE)
  return { bridge, sandbox, directory: directory.path }
}

/** Resolves when the process reports that it is ready. */
export async function ready({ ready: { ops } }: BridgeProcess): Promise<void> {
  for (let status = 0; status !== 200; await wait(20)) {
    const response = await fetch(`${ops}/readyz`)
    await response.arrayBuffer()
    status = response.status
  }
}

/** An endpoint for each of these manners of answering; `members`: more of each. */
export async function register(
  bridge: BridgeProcess,
  sink: Sink,
  manners: readonly string[],
  members: object = {},
): Promise<void> {
  for (const [place, manner] of manners.entries())
    await askEndpoints(bridge.ready.http, 'POST', '', { url: `${sink.url}/${manner}/${place}`, ...members })
}

/** Items for the sandbox, of now. */
export function items(seed: number, count: number): object[] {
  const issuers = createIssuers(seed)
  const drafts = templatesOf(
    { seed, issuers },
    DAY,
    Array.from({ length: count }, () => 12 * 3_600),
  )
  const context = { issuers, nativeKind: 'Native', documentsUrl: 'http://documents.test' }
  const padding = 'x'.repeat(EVENT_BYTES - USUAL_BYTES)
  return drafts.map((template) => ({
    ...(JSON.parse(itemJson(template, context)) as object),
    timestamp: new Date(systemClock.now()).toISOString(),
    padding,
  }))
}

/** The receiver. */
export interface Sink extends Disposable {
  url: string
  /** What came since the last report. */
  report(): Promise<SinkReport>
  /** How many did. */
  count(): Promise<number>
}

/** Starts one, on its core. */
export async function startSink(): Promise<Sink> {
  const child = fork(join(import.meta.dirname, 'webhook-sink.ts'))
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

/** Resolves when so many deliveries came since the last report, repeats not counted. */
export async function came(sink: Sink, count: number): Promise<void> {
  const deadline = performance.now() + LONGEST_MS
  for (let received = 0; received < count; received = await sink.count()) {
    if (performance.now() > deadline) throw new Error(`${received} of ${count} deliveries came in time`)
    await wait(100)
  }
}

/** What became of one burst. */
export interface Burst extends SinkReport {
  /** Of the sender, over the whole burst. */
  cpuMicros: number
  /** Of the sender, since it began. */
  peakMb: number
}

/** What the receiver got and the sender used while the work was done; before it, both have rested. */
export async function measure(pid: number, sink: Sink, work: () => Promise<void>): Promise<Burst> {
  await wait(REST_MS)
  await sink.report()
  const before = cpuSeconds(pid)
  await work()
  const cpuMicros = (cpuSeconds(pid) - before) * 1e6
  return { ...(await sink.report()), cpuMicros, peakMb: peakMb(pid) }
}

/** Every thread of it, from now on. */
export function pin(pid: number, core: string): void {
  execFileSync('taskset', ['-a', '-c', '-p', core, String(pid)], { stdio: 'ignore' })
}

/** So many of one manner. */
export function many(manner: string, count: number): string[] {
  return Array.from({ length: count }, () => manner)
}
