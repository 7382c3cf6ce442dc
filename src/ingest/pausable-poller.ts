/** Runs the poller with the pauses of the installation: it begins once it is known whether polling is paused. */
import type { Role } from '../lifecycle/supervisor.ts'
import type { PollingPauses } from '../registry/polling-pauses.ts'
import type { Poller } from './poller/poller.ts'

/** What runs: the poller, which takes each pause as it comes. */
export function pausablePoller(
  poller: Pick<Poller, 'run' | 'setPause'>,
  pauses: Pick<PollingPauses, 'follow'>,
): Role['run'] {
  return async (signal) => {
    const following = pauses.follow(signal)
    const first = await following.next()
    if (first.done === true) return
    poller.setPause(first.value?.sinceMs ?? null)
    const follow = async (): Promise<void> => {
      for await (const pause of following) poller.setPause(pause?.sinceMs ?? null)
    }
    await Promise.all([poller.run(signal), follow()])
  }
}
