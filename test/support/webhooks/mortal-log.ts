/** A log as one process has it whose writes to tables last three milliseconds, and are not heard of again once it is dead. */
import type { Clock } from '../../../src/lifecycle/clock.ts'
import type { Log } from '../../../src/log/log.ts'

/** That log until `life` aborts: a write under way then is done, or not, as it was. */
export function mortalLog(log: Log, clock: Clock, life: AbortSignal): Log {
  const wait = async (): Promise<void> => {
    await new Promise<void>((resolve) => void clock.after(3, resolve))
    if (life.aborted) await new Promise(() => undefined)
  }
  return {
    ...log,
    table<V>(name: string) {
      const table = log.table<V>(name)
      return {
        load: () => table.load(),
        changes: (signal: AbortSignal) => table.changes(signal),
        async put(key: string, value: V) {
          await wait()
          await table.put(key, value)
        },
        async delete(key: string) {
          await wait()
          await table.delete(key)
        },
      }
    },
  }
}
