/**
 * `bridge run` for `npm run bench -- failover`: after SIGUSR2 it kills itself as kill -9 would, between the last record
 * and the end of its second transaction from then on: of a poller at rest that is the commit of what its next poll
 * brings, and the one before it is that poll's unit.
 */
import { readFileSync } from 'node:fs'
import { startApp } from '../src/app/app.ts'
import { systemChance, systemClock } from '../src/lifecycle/clock.ts'
import { withStopSignal } from '../src/lifecycle/signals.ts'
import { loadSettings } from '../src/settings/settings.ts'

let transactionsLeft = Number.POSITIVE_INFINITY
process.on('SIGUSR2', () => {
  transactionsLeft = 2
})
const faultHooks = {
  beforeCommit(): void {
    transactionsLeft -= 1
    if (transactionsLeft === 0) process.kill(process.pid, 'SIGKILL')
  },
}
const settings = loadSettings(process.env, (path) => readFileSync(path, 'utf8'))
const app = await startApp(settings, { clock: systemClock, chance: systemChance, faultHooks })
process.stdout.write(`${JSON.stringify(app.ready)}\n`)
await withStopSignal((signal) => app.runUntil(signal))
