/**
 * Runs `bridge run` for `npm run bench -- failover` and kills itself inside a transaction after SIGUSR2. It dies like
 * kill -9 between the last record and the end of the second transaction after the signal. For an idle poller that is
 * the commit of its next poll; the transaction before it records that poll's unit.
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
