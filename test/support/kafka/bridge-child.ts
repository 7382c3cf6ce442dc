/**
 * Runs `bridge run` in a child process that kills or freezes itself at a fault-injection hook of the log when a test
 * orders it.
 */
import { readFileSync, writeSync } from 'node:fs'
import { startApp } from '../../../src/app/app.ts'
import { systemChance, systemClock } from '../../../src/lifecycle/clock.ts'
import { withStopSignal } from '../../../src/lifecycle/signals.ts'
import type { FaultHooks } from '../../../src/log/fault-hooks.ts'
import { loadSettings } from '../../../src/settings/settings.ts'

/** The order that the process carries out on itself. A later order replaces an earlier one. */
export interface Order {
  at: keyof FaultHooks
  /** At which arrival at the hook, 1 = the next. */
  call: number
  /** Counts only commits that write to this topic; null: all of them. */
  topic: string | null
  /** Like kill -9, or like SIGSTOP. */
  signal: 'SIGKILL' | 'SIGSTOP'
}

/** One line of stdout: the process has reached a hook. `atMs`: ms since 1970. `obeyed`: it carries out its order now. */
export interface Reached {
  reached: keyof FaultHooks
  atMs: number
  obeyed: boolean
}

let order: Order | null = null
process.on('message', (given: Order) => {
  order = given
  process.send?.('taken')
})
// Waiting for orders does not keep the process alive.
process.channel?.unref()

const reach =
  (place: keyof FaultHooks) =>
  (topics: readonly string[] = []): void => {
    const counts = order?.at === place && (order.topic === null || topics.includes(order.topic))
    if (order !== null && counts) order.call -= 1
    const obeyed = counts && order?.call === 0
    if (!obeyed && place !== 'afterFence') return
    const line: Reached = { reached: place, atMs: systemClock.now(), obeyed }
    // Written before the signal takes effect, which a stream might not be.
    writeSync(1, `${JSON.stringify(line)}\n`)
    if (obeyed && order !== null) process.kill(process.pid, order.signal)
  }
const faultHooks: FaultHooks = {
  afterFence: reach('afterFence'),
  afterFencingToken: reach('afterFencingToken'),
  afterSend: reach('afterSend'),
  beforeCommit: reach('beforeCommit'),
  afterCommit: reach('afterCommit'),
}
const settings = loadSettings(process.env, (path) => readFileSync(path, 'utf8'))
const app = await startApp(settings, { clock: systemClock, chance: systemChance, faultHooks })
process.stdout.write(`${JSON.stringify(app.ready)}\n`)
await withStopSignal((signal) => app.runUntil(signal))
