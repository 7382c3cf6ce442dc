/**
 * Runs a process that commits to the embedded log in argv[2] for ever, and prints what was acknowledged: `{"pid"}`
 * once, then `{"sequence","spent"}` after each commit, `{"failed","hint","reread"}` at the end.
 */
import { BridgeError } from '../../src/errors.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { openSqliteLog } from '../../src/log-embedded/log.ts'
import { claimed, START_MS, sampleEvents } from '../log/samples.ts'

function say(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}

const { log } = openSqliteLog({
  dataDir: process.argv[2] ?? '',
  nativeKind: 'Native',
  clock: systemClock,
})
const writer = await claimed(log)
say({ pid: process.pid })
try {
  for (let turn = 0; ; turn++) {
    await writer.spend(1, 'poll', START_MS)
    const first = writer.state.head.sequence + 1
    await writer.commit({
      events: sampleEvents(first, first + (turn % 5) * 40),
      head: { cursor: String(first) },
    })
    say({ sequence: writer.state.head.sequence, spent: writer.state.ledger.get(START_MS)?.poll })
    await new Promise((resolve) => setImmediate(resolve))
  }
} catch (error) {
  const reread = await claimed(log).then(
    (next) => next.state.head.sequence,
    () => null,
  )
  const { code, hint } = error instanceof BridgeError ? error : { code: String(error), hint: undefined }
  say({ failed: code, hint, reread })
}
await log.close()
