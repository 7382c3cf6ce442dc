/** Runs `bridge run` on a clock that is sixty times as fast: what waits for minutes by design waits for seconds. */
import { startApp } from '../../../src/app/app.ts'
import { systemChance } from '../../../src/lifecycle/clock.ts'
import { withStopSignal } from '../../../src/lifecycle/signals.ts'
import { loadSettings } from '../../../src/settings/settings.ts'
import { createFastClock } from '../../support/time/fast-clock.ts'

await withStopSignal(async (signal) => {
  const app = await startApp(loadSettings(process.env), { clock: createFastClock(60), chance: systemChance })
  process.stdout.write(`${JSON.stringify(app.ready)}\n`)
  await app.runUntil(signal)
})
process.disconnect?.()
