/**
 * Runs the roles beside each other. Owns that a role which fails stops all of them, loudly, and that a stop is bounded
 * in time. Refuses to restart a role: whoever runs the process does.
 */
import { BridgeError } from '../errors.ts'
import type { Clock } from './clock.ts'

/** A part of the product that runs until it is told to stop. */
export interface Role {
  name: string
  /** Runs until the signal aborts, then ends what it has begun. Rejects with what it cannot go on after. */
  run(signal: AbortSignal): Promise<void>
}

/**
 * Runs every role until the signal aborts or one of them ends by itself. Then all are told to stop, and have
 * `drainTimeoutMs` for it.
 * @throws the first role's fault; BridgeError `failed` when a role ends unasked or does not stop in time
 */
export async function superviseRoles(
  roles: readonly Role[],
  { signal, drainTimeoutMs, clock }: { signal: AbortSignal; drainTimeoutMs: number; clock: Clock },
): Promise<void> {
  const stop = new AbortController()
  const running = roles.map(async (role) => {
    await role.run(stop.signal)
    if (!stop.signal.aborted) throw new BridgeError('failed', `the role ${role.name} ended by itself`)
  })
  const asked = Promise.withResolvers<void>()
  const onAbort = (): void => asked.resolve()
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    await Promise.race([asked.promise, ...running])
  } finally {
    signal.removeEventListener('abort', onAbort)
    stop.abort()
    await drain(running, drainTimeoutMs, clock)
  }
  await Promise.all(running)
}

/** Waits until every role has ended, at most for the drain's budget. */
async function drain(running: readonly Promise<void>[], drainTimeoutMs: number, clock: Clock): Promise<void> {
  const late = Promise.withResolvers<never>()
  const cancel = clock.after(drainTimeoutMs, () =>
    late.reject(
      new BridgeError('failed', `the roles did not stop within ${drainTimeoutMs} ms`, {
        hint: 'What was in flight is made good at the next start; BRIDGE_DRAIN_TIMEOUT gives more time.',
      }),
    ),
  )
  try {
    await Promise.race([Promise.allSettled(running), late.promise])
  } finally {
    cancel()
  }
}
