/** Wraps a log for one process whose table writes take three milliseconds, and never resolve once the process is dead. */
import type { Clock } from '../../../src/lifecycle/clock.ts'
import type { Log } from '../../../src/log/log.ts'

/** That log until `life` aborts; a write in flight then may or may not have taken effect. */
export function dyingLog(log: Log, clock: Clock, life: AbortSignal): Log {
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
