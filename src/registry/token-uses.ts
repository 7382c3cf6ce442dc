/**
 * Records the hour in which each token was last used on any node. A node writes at most once an hour for each token, and
 * retries a failed write without failing the request.
 */
import { HOUR_MS } from '../core/durations.ts'
import { aborted } from '../lifecycle/aborted.ts'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import { createWakeup } from '../lifecycle/wakeup.ts'
import type { Table } from '../log/tables.ts'
import type { Logger } from '../obs/logger.ts'
import { type Row, useKey } from './token-rows.ts'

/** Wait after a write that failed. */
const RETRY_MS = 60_000

/** The hour of the last use of each token. */
export type TokenUses = ReturnType<typeof createTokenUses>

/** Starts without uses; the owner passes on those that it reads from the table. */
export function createTokenUses(parts: { table: Table<Row>; clock: Clock; logger: Logger }) {
  const { table, clock, logger } = parts
  const hours = new Map<string, number>()
  /** What is to be written: an hour, or null = the row is to be deleted. */
  const due = new Map<string, number | null>()
  const wakeup = createWakeup()

  const note = (id: string, hourMs: number | null): void => {
    due.set(id, hourMs)
    wakeup.wake()
  }
  const write = async (id: string, hourMs: number | null): Promise<void> => {
    if (hourMs === null) await table.delete(useKey(id))
    else await table.put(useKey(id), { kind: 'use', hourMs })
  }
  return {
    /** Records that the token is used now. */
    mark(id: string): void {
      const hourMs = Math.floor(clock.now() / HOUR_MS) * HOUR_MS
      if (hourMs <= (hours.get(id) ?? 0)) return
      hours.set(id, hourMs)
      note(id, hourMs)
    },
    /** The beginning of the hour of the last use, ms since 1970; null where there was none. */
    lastHourMs: (id: string): number | null => hours.get(id) ?? null,
    /** Tokens with a use that is known here. */
    ids: (): string[] => [...hours.keys()],
    /** Takes over an hour that was read from the table. */
    take: (id: string, hourMs: number): void => void hours.set(id, Math.max(hourMs, hours.get(id) ?? 0)),
    /** Forgets a deleted token. `isWritten`: its row may still be in the table and is to be deleted. */
    forget(id: string, isWritten: boolean): void {
      hours.delete(id)
      if (isWritten) note(id, null)
      else due.delete(id)
    },
    /** Writes new uses until the signal aborts. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const [next] = due
        if (next === undefined) {
          await wakeup.wait(signal)
          continue
        }
        const [id, hourMs] = next
        due.delete(id)
        const written = new AbortController()
        const either = AbortSignal.any([signal, written.signal])
        try {
          // A stop does not wait for an unavailable log: the use is recorded again when the token is next used.
          await Promise.race([write(id, hourMs), aborted(either)])
        } catch (error) {
          if (!due.has(id)) due.set(id, hourMs)
          logger.warn('token.last_use_not_stored', { tokenId: id, error })
          await sleep(clock, RETRY_MS, signal)
        } finally {
          written.abort()
        }
      }
    },
  }
}
