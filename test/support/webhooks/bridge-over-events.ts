/** Runs the product with the roles `api` and `webhooks` and no poller, over an embedded log that holds events already. */
import { systemClock } from '../../../src/lifecycle/clock.ts'
import type { Log } from '../../../src/log/log.ts'
import { openSqliteLog } from '../../../src/log-embedded/log.ts'
import { claimed } from '../../log/samples.ts'
import { type BridgeProcess, bridgeEnv, startBridge } from '../bridge-process.ts'
import { eventAt } from '../store.ts'
import { LOCAL_RECEIVERS } from './endpoint-api.ts'

/** Most events of one commit. */
const MOST_TOGETHER = 700

/** Opens the log of a directory that no process uses, for that work. */
export async function onLog(dataDir: string, work: (log: Log) => Promise<void>): Promise<void> {
  const { log } = openSqliteLog({ dataDir, nativeKind: 'Native', clock: systemClock })
  await work(log)
  await log.close()
}

/** Stores the first `count` events of `eventAt`. */
export async function storeEvents(dataDir: string, count: number): Promise<void> {
  await onLog(dataDir, async (log) => {
    const writer = await claimed(log)
    for (let after = 0; after < count; after += MOST_TOGETHER) {
      const length = Math.min(MOST_TOGETHER, count - after)
      await writer.commit({ events: Array.from({ length }, (_, at) => eventAt(after + at + 1)) })
    }
  })
}

/** Starts the bridge; no request goes to an upstream. `inside` as for `startBridge`. */
export function startWithoutUpstream(
  dataDir: string,
  settings: Record<string, string> = {},
  inside: readonly string[] = [],
): Promise<BridgeProcess> {
  const nowhere = { url: 'http://127.0.0.1:9/v2', key: 'none' }
  const own = { BRIDGE_ROLES: 'api,webhooks', ...LOCAL_RECEIVERS, ...settings }
  return startBridge(bridgeEnv(nowhere, dataDir, own), ['run'], undefined, inside)
}
