/**
 * `bridge run` with the settings of its environment, which kills itself as kill -9 would: argv is the place of the log's
 * seam and which call of it, or `moment` and the ms after its first claim.
 */
import { readFileSync } from 'node:fs'
import { startApp } from '../../src/app.ts'
import { systemChance, systemClock } from '../../src/lifecycle/clock.ts'
import { withStopSignal } from '../../src/lifecycle/signals.ts'
import { loadSettings } from '../../src/settings/settings.ts'

const [place = '', count = ''] = process.argv.slice(2)
const die = (): void => void process.kill(process.pid, 'SIGKILL')
let callsLeft = Number(count)
const dieInTurn = (): void => {
  callsLeft -= 1
  if (callsLeft === 0) die()
}
const seam =
  place === 'moment'
    ? { afterNonce: () => void systemClock.after(Number(count), die) }
    : { [place]: dieInTurn }
const settings = loadSettings(process.env, (path) => readFileSync(path, 'utf8'))
const app = await startApp(settings, { clock: systemClock, chance: systemChance, seam })
process.stdout.write(`${JSON.stringify(app.ready)}\n`)
await withStopSignal((signal) => app.runUntil(signal))
