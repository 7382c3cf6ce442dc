/** Tests the log metrics of a node without the poller. */
import { test } from 'vitest'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { openSqliteLog } from '../../src/log-embedded/log.ts'
import { claimed } from '../log/samples.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../support/bridge-process.ts'
import { eventually } from '../support/http/api-client.ts'
import { eventAt } from '../support/store.ts'

test('a node that does not poll also reports the last sequence in its metrics', async () => {
  using directory = temporaryDirectory()
  const { log } = openSqliteLog({ dataDir: directory.path, nativeKind: 'Native', clock: systemClock })
  await (await claimed(log)).commit({ events: [eventAt(1), eventAt(2), eventAt(3)] })
  await log.close()
  const upstream = { url: 'http://127.0.0.1:9/v2', key: 'none' }
  const bridge = await startBridge(bridgeEnv(upstream, directory.path, { BRIDGE_ROLES: 'feed,api' }))
  try {
    await eventually(
      async () => (await fetch(`${bridge.ready.ops}/metrics`)).text(),
      (text) => /^bridge_log_sequence 3$/m.test(text) && /^bridge_leader 0$/m.test(text),
      10_000,
    )
  } finally {
    await bridge.stop()
  }
})
