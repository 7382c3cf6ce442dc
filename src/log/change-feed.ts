/** Delivers changes of a key-value table to the subscribers in this process; each subscriber has its own queue. */
import { createWakeup } from '../lifecycle/wakeup.ts'
import type { Change } from './tables.ts'

/** Publishes changes to the present subscribers. */
export interface ChangeFeed<V> {
  publish(change: Change<V>): void
  /** Every change published after this call, in order, until the signal aborts. */
  subscribe(signal: AbortSignal): AsyncIterable<Change<V>[]>
}

/** A feed without subscribers. */
export function createChangeFeed<V>(): ChangeFeed<V> {
  const queues = new Set<Change<V>[]>()
  const wakeup = createWakeup()
  return {
    publish(change) {
      for (const queue of queues) queue.push(change)
      wakeup.wake()
    },
    subscribe(signal) {
      const queue: Change<V>[] = []
      if (!signal.aborted) {
        queues.add(queue)
        signal.addEventListener('abort', () => queues.delete(queue), { once: true })
      }
      return drain(queue, () => wakeup.wait(signal), signal)
    },
  }
}

async function* drain<V>(
  queue: Change<V>[],
  more: () => Promise<void>,
  signal: AbortSignal,
): AsyncGenerator<Change<V>[]> {
  while (!signal.aborted) {
    if (queue.length === 0) await more()
    else yield queue.splice(0)
  }
}
