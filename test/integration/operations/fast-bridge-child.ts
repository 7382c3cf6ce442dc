/**
 * Runs `bridge run` on a clock that is sixty times as fast: what waits for minutes by design waits for seconds. The message
 * `fault` lets the next decision of a task fail, `uncaught` is an error that nothing catches.
 */
import { startApp } from '../../../src/app/app.ts'
import { systemChance } from '../../../src/lifecycle/clock.ts'
import { withStopSignal } from '../../../src/lifecycle/signals.ts'
import { loadSettings } from '../../../src/settings/settings.ts'
import { createFastClock } from '../../support/time/fast-clock.ts'

let isBroken = false
process.on('message', (order) => {
  if (order === 'uncaught') throw new Error('nothing catches this')
  isBroken = true
})
// Waiting for a message does not keep the process alive.
process.channel?.unref()

const chance = (): number => {
  if (isBroken) throw new Error('no decision can be made')
  return systemChance()
}

await withStopSignal(async (signal) => {
  const app = await startApp(loadSettings(process.env), { clock: createFastClock(60), chance })
  process.stdout.write(`${JSON.stringify(app.ready)}\n`)
  await app.runUntil(signal)
})
