/**
 * Sends the burst of `npm run bench -- webhooks` through the baseline programs, each a process that follows a bridge
 * without endpoints. It skips BullMQ, with a message, when Redis is not installed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ADMIN_TOKEN } from '../test/support/bridge-process.ts'
import { hasTool } from '../test/support/tools.ts'
import { cpuSeconds, peakMb } from './support/process-usage.ts'
import { startRedis } from './support/redis.ts'
import {
  type Burst,
  came,
  items,
  many,
  measure,
  pin,
  SENDER_CORE,
  startSender,
  startSink,
} from './support/webhook-bench.ts'

/** How many events go to how many endpoints, all of them to each. */
export interface BurstSize {
  events: number
  endpoints: number
}

/** A burst through a program that keeps its work in Redis; `cpuMicros` and `peakMb` are the program's alone. */
export interface BurstOverRedis extends Burst {
  /** Since Redis began, which is seconds before the burst. */
  redisCpuMicros: number
  redisPeakMb: number
}

/** Printed instead of BullMQ's figures when there is no Redis. */
export const NO_REDIS =
  'BullMQ on Redis: NOT MEASURED, there is no redis-server (Debian: apt-get install redis-server)'

/**
 * Whether BullMQ can be measured here; if not, it is logged at once, long before the figures.
 * @throws Error when it cannot and `REQUIRE_TOOLS=1`
 */
export function hasRedis(): boolean {
  const found = hasTool('redis-server', 'redis-server')
  if (!found) process.stderr.write(`${NO_REDIS}\n`)
  return found
}

/** Through the plain loop. */
export async function burstThroughLoop(seed: number, size: BurstSize): Promise<Burst> {
  return await burstThrough('baselines/plain-webhooks.ts', seed, size)
}

/** Through BullMQ on a Redis of its own, which runs on whichever core is free, as a broker does. */
export async function burstThroughBullmq(seed: number, size: BurstSize): Promise<BurstOverRedis> {
  await using redis = await startRedis()
  const burst = await burstThrough('baselines/bullmq-webhooks.ts', seed, size, {
    REDIS_PORT: String(redis.port),
  })
  return { ...burst, redisCpuMicros: cpuSeconds(redis.pid) * 1e6, redisPeakMb: peakMb(redis.pid) }
}

/** Starts the program with these extra settings, and measures it once everything is up. */
async function burstThrough(
  program: string,
  seed: number,
  { events, endpoints }: BurstSize,
  settings: Record<string, string> = {},
): Promise<Burst> {
  await using stack = new AsyncDisposableStack()
  const sink = stack.use(await startSink())
  const { bridge, sandbox, directory } = await startSender(stack, seed)
  const list = join(directory, 'endpoints')
  const urls = many('ok', endpoints).map((manner, place) => `${sink.url}/${manner}/${place}`)
  writeFileSync(list, urls.join('\n'))
  const env = { BRIDGE_URL: bridge.ready.http, BRIDGE_TOKEN: ADMIN_TOKEN, ENDPOINTS: list, ...settings }
  const child = spawn(process.execPath, [join(import.meta.dirname, program)], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  stack.defer(() => void child.kill('SIGKILL'))
  const ready = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
  if (typeof ready[0] === 'number') throw new Error(`${program} has ended with ${ready[0]}`)
  const pid = child.pid ?? 0
  pin(pid, SENDER_CORE)
  return await measure(pid, sink, async () => {
    sandbox.publish(items(seed, events))
    await came(sink, events * endpoints)
  })
}
