/**
 * Runs the roles (long-running tasks) of the process concurrently. A role that fails stops all of them, within a time limit,
 * and none is restarted: the process manager restarts the process.
 */
import { BridgeError } from '../errors.ts'
import { aborted } from './aborted.ts'
import type { Clock } from './clock.ts'

/** A long-running part of the process. */
export interface Role {
  name: string
  /** Runs until the signal aborts, then finishes its work. Rejects with a fault that it cannot recover from. */
  run(signal: AbortSignal): Promise<void>
}

/** How roles are supervised. */
export interface Supervision {
  signal: AbortSignal
  drainTimeoutMs: number
  clock: Clock
  /** Called when the roles begin to stop; with null where the signal asked for it, else with the first fault. */
  onStopping?: (fault: { error: unknown } | null) => void
}

/**
 * Runs every role until the signal aborts or one of them ends by itself. Then all must stop within `drainTimeoutMs`.
 * @throws the first role's fault, also where the others do not stop in time then; BridgeError `failed` when a role ends by
 * itself or does not stop in time
 */
export async function superviseRoles(
  roles: readonly Role[],
  { signal, drainTimeoutMs, clock, onStopping }: Supervision,
): Promise<void> {
  const stop = new AbortController()
  const running = roles.map(async (role) => {
    await role.run(stop.signal)
    if (!stop.signal.aborted)
      throw new BridgeError('failed', `the internal task "${role.name}" ended unexpectedly`)
  })
  let fault: { error: unknown } | null = null
  const failed = (error: unknown): void => {
    fault ??= { error }
  }
  await Promise.race([aborted(signal), ...running]).catch(failed)
  onStopping?.(fault)
  stop.abort()
  await drain(running, drainTimeoutMs, clock)
    .then(() => Promise.all(running))
    .catch(failed)
  if (fault !== null) throw (fault as { error: unknown }).error
}

/** Waits until every role has ended, at most `drainTimeoutMs`. */
async function drain(running: readonly Promise<void>[], drainTimeoutMs: number, clock: Clock): Promise<void> {
  const late = Promise.withResolvers<never>()
  const cancel = clock.after(drainTimeoutMs, () =>
    late.reject(
      new BridgeError('failed', `the internal tasks did not stop within ${drainTimeoutMs} ms`, {
        hint: 'No data is lost: the next start repeats unfinished work. BRIDGE_DRAIN_TIMEOUT sets the limit.',
      }),
    ),
  )
  try {
    await Promise.race([Promise.allSettled(running), late.promise])
  } finally {
    cancel()
  }
}
