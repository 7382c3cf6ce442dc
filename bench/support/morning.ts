/**
 * Runs one morning of the synthetic market through any program, kills it in the first burst and restarts it. It
 * compares the topic with the sandbox's own record.
 */
import type { ChildProcess } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import type { Consumer } from 'kafkajs'
import { contentHash } from '../../src/core/disclosure.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { kafkaClient, uniqueName } from '../../test/support/kafka/clients.ts'
import { heldClock } from '../../test/support/time/held-clock.ts'
import { residentMb } from './process-usage.ts'

/** Pays for a poll every five seconds in both programs. */
export const WEEKLY_QUOTA = 151_200
/** After the market's end a program that still owes something has this long. */
const LONGEST_REST_MS = 60_000
/** A program that is quiet for so long after the market's end brings nothing more: the re-scan after a burst comes 20 s later. */
const QUIET_MS = 35_000
const READY_TIMEOUT_MS = 60_000
const LOOK_MS = 20

/** A program that brings the market into a topic. */
export interface Subject {
  brokers: readonly string[]
  /** Holds an item a record, as JSON; records without a guid are passed over. */
  topic: string
  /** Starts a life of it; its files outlive it. */
  start(upstream: { url: string; key: string }): ChildProcess
}

/** What became of one morning. */
export interface Morning {
  /** Item revisions that the market showed. */
  shown: number
  lost: number
  doubled: number
  /** Of each revision that came: from visible upstream to read from the topic, ms. */
  delaysMs: number[]
  /** Of the quota, as the upstream counts them. */
  units: number
  peakMb: number
}

/**
 * Runs it. The market begins, at 06:59:55, when the program has polled three times; its first burst is 6 to 14 s later.
 * `killAfterMs` counts from the beginning.
 */
export async function runMorning(
  subject: Subject,
  { seed, killAfterMs }: { seed: number; killAfterMs: number },
): Promise<Morning> {
  const market = heldClock()
  const sandbox = await startSandbox(
    { scenario: 'morning-short', plan: 'advanced', weeklyQuota: WEEKLY_QUOTA, seed },
    { clock: market.clock },
  )
  const memory = { peakMb: 0 }
  let life = subject.start(sandbox)
  const found = new Map<string, number[]>()
  let consumer: Consumer | null = null
  try {
    await until(() => sandbox.usage().requests >= 3, READY_TIMEOUT_MS)
    consumer = await readTopic(subject, found)
    market.release()
    const visibleMs = new Map<string, number>()
    const watching = watch(sandbox, visibleMs, () => weigh(life, memory))
    await wait(killAfterMs)
    await kill(life)
    life = subject.start(sandbox)
    await until(() => sandbox.finished(), 120_000)
    await cameToRest(sandbox, found)
    watching.stop()
    await kill(life)
    return verdict(sandbox, found, visibleMs, memory.peakMb)
  } finally {
    await end(life)
    await consumer?.disconnect()
    await sandbox.close()
  }
}

function verdict(
  sandbox: Sandbox,
  found: ReadonlyMap<string, readonly number[]>,
  visibleMs: ReadonlyMap<string, number>,
  peakMb: number,
): Morning {
  const revisions = sandbox.truth().items.map(keyOf)
  const times = revisions.map((key) => found.get(key) ?? [])
  return {
    shown: revisions.length,
    lost: times.filter((all) => all.length === 0).length,
    doubled: times.reduce((sum, all) => sum + Math.max(0, all.length - 1), 0),
    delaysMs: revisions.flatMap((key) => {
      const [readMs] = found.get(key) ?? []
      return readMs === undefined ? [] : [Math.max(0, readMs - (visibleMs.get(key) ?? readMs))]
    }),
    units: sandbox.usage().units,
    peakMb,
  }
}

/** Notes for each revision the machine's time at which it became visible; `also` runs with every look. */
function watch(sandbox: Sandbox, visibleMs: Map<string, number>, also: () => void): { stop(): void } {
  let seen = 0
  const look = (): void => {
    const nowMs = systemClock.now()
    const { items, marketTime } = sandbox.truth()
    for (const item of items.slice(seen))
      visibleMs.set(keyOf(item), nowMs - (Date.parse(marketTime) - Date.parse(item.insertedAt)))
    seen = items.length
    also()
  }
  const timer = setInterval(look, LOOK_MS)
  return { stop: () => clearInterval(timer) }
}

/** Reads the topic from its start as a consumer would, and notes the machine's time of each record. */
async function readTopic({ brokers, topic }: Subject, found: Map<string, number[]>): Promise<Consumer> {
  const consumer = kafkaClient(brokers).consumer({ groupId: uniqueName('judge'), maxWaitTimeInMs: 200 })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ message }) => {
      const item: unknown = JSON.parse(String(message.value))
      if (typeof item !== 'object' || item === null || !('guid' in item)) return
      const key = keyOf({ guid: String(item.guid), contentHash: contentHash(item) })
      found.set(key, [...(found.get(key) ?? []), systemClock.now()])
    },
  })
  return consumer
}

/** Resolves when everything has come, or nothing more does. */
async function cameToRest(sandbox: Sandbox, found: ReadonlyMap<string, unknown>): Promise<void> {
  const endMs = systemClock.now() + LONGEST_REST_MS
  let sizeBefore = found.size
  let movedMs = systemClock.now()
  const revisions = sandbox.truth().items.map(keyOf)
  while (systemClock.now() < Math.min(endMs, movedMs + QUIET_MS)) {
    if (revisions.every((key) => found.has(key))) return
    await wait(200)
    if (found.size !== sizeBefore) movedMs = systemClock.now()
    sizeBefore = found.size
  }
}

/** Keeps the largest resident memory seen. */
function weigh(life: ChildProcess, memory: { peakMb: number }): void {
  if (!isAlive(life)) return
  const nowMb = residentMb(life.pid ?? 0)
  if (nowMb > memory.peakMb) memory.peakMb = nowMb
}

/** Kills a life that must not have ended by itself. */
async function kill(life: ChildProcess): Promise<void> {
  if (!isAlive(life)) throw new Error(`the program has ended by itself (${life.exitCode ?? life.signalCode})`)
  await end(life)
}

/** Kills the life. Callable twice. */
async function end(life: ChildProcess): Promise<void> {
  if (!isAlive(life)) return
  const gone = new Promise((resolve) => life.once('exit', resolve))
  life.kill('SIGKILL')
  await gone
}

function isAlive(life: ChildProcess): boolean {
  return life.exitCode === null && life.signalCode === null
}

function keyOf({ guid, contentHash: hash }: { guid: string; contentHash: string }): string {
  return `${guid} ${hash}`
}

async function until(holds: () => boolean, timeoutMs: number): Promise<void> {
  const endMs = systemClock.now() + timeoutMs
  while (!holds()) {
    if (systemClock.now() > endMs) throw new Error(`nothing happened in ${timeoutMs / 1000} s`)
    await wait(LOOK_MS)
  }
}
