/**
 * Runs one bridge of a chaos world over several lives: its data directory and its proxies to brokers and upstream
 * stay.
 */
import { once } from 'node:events'
import { resolve } from 'node:path'
import { type BridgeProcess, startBridge } from '../../bridge-process.ts'
import { eventually } from '../../http/api-client.ts'
import type { CountingFront } from '../../worlds/counting-front.ts'
import type { Order, Reached } from '../bridge-child.ts'
import type { Way } from './way.ts'

const CHILD = resolve(import.meta.dirname, '../bridge-child.ts')

/** One place. */
export interface Place {
  readonly name: string
  readonly front: CountingFront
  readonly way: Way
  /** The current process, or the last one. Throws before the first. */
  bridge(): BridgeProcess
  isRunning(): boolean
  /** Starts a bridge if none runs; resolves when its listeners are open. */
  start(): Promise<void>
  /** Sends the signal and resolves when the bridge has ended, with its exit code; null after a kill. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
  /** Resolves when the current bridge has received the order. */
  order(order: Order): Promise<void>
  /** Resolves when it carries the order out. */
  obeyed(): Promise<void>
  /** When the bridges of this place had fenced all others, ms since 1970, rising. */
  fences(): number[]
  /** How often the current bridge has logged that event. */
  said(event: string): number
  /** The log lines of all its bridges. */
  lines(): string
}

/** The parts of a place. */
export interface PlaceParts {
  name: string
  env: Record<string, string>
  front: CountingFront
  way: Way
}

/** An order may wait for a commit of events, and that for a failover. */
const LONGEST_WAIT_MS = 120_000

/** A place without a running bridge. */
export function createPlace({ name, env, front, way }: PlaceParts): Place {
  const lives: BridgeProcess[] = []
  const bridge = (): BridgeProcess => {
    const last = lives.at(-1)
    if (last === undefined) throw new Error(`no bridge was started at ${name}`)
    return last
  }
  const isRunning = (): boolean => {
    const child = lives.at(-1)?.child
    return child !== undefined && child.exitCode === null && child.signalCode === null
  }
  const reached = (life: BridgeProcess): Reached[] =>
    life
      .stdout()
      .split('\n')
      .filter((line) => line.startsWith('{"reached":') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as Reached)
  const obeyedCount = (): number => reached(bridge()).filter(({ obeyed }) => obeyed).length
  let obeyedBefore = 0
  return {
    name,
    front,
    way,
    bridge,
    isRunning,
    async start() {
      if (isRunning()) throw new Error(`a bridge runs at ${name} already`)
      lives.push(await startBridge(env, [], CHILD))
    },
    stop: (signal) => bridge().stop(signal),
    async order(order) {
      obeyedBefore = obeyedCount()
      const { child } = bridge()
      const taken = once(child, 'message')
      child.send(order)
      await taken
    },
    async obeyed() {
      const failing = `the order at ${name} was not carried out`
      await eventually(obeyedCount, (count) => count > obeyedBefore, LONGEST_WAIT_MS).catch((cause) => {
        throw new Error(failing, { cause })
      })
    },
    fences: () =>
      lives.flatMap((life) =>
        reached(life)
          .filter((line) => line.reached === 'afterFence')
          .map(({ atMs }) => atMs),
      ),
    said: (event) => bridge().stderr().split(`"event":"${event}"`).length - 1,
    lines: () => lives.map((life) => life.stderr()).join(''),
  }
}
