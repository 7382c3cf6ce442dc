/**
 * The deliveries of an endpoint that wait: for their next try, or behind an earlier one of their issuer. Owns which of them
 * is due first, exactly and not in tiers. Refuses to hold bodies (rows only, so that a waiting delivery costs half a
 * kilobyte), to write rows, and to know who may be sent.
 */
import type { RetryRow } from './delivery-rows.ts'
import { createDueHeap, type DueHeap } from './due-heap.ts'

/** Most that wait for an endpoint, those behind an earlier one of their issuer too; then its cursors wait. */
export const MOST_WAITING = 1000

export interface Waiting {
  readonly size: number
  /** When the oldest of them was held, ms since 1970; null where none waits. */
  readonly oldestMs: number | null
  get(sequence: number): RetryRow | undefined
  /** Puts a row in, or in the place of the one before; it is not due before `arm`. */
  put(sequence: number, row: RetryRow): void
  /** It may be sent from its row's `dueMs` on, or from a later moment. Nothing where it does not wait. */
  arm(sequence: number, notBeforeMs?: number): void
  /** It is being sent: not due until it is armed again. */
  disarm(sequence: number): void
  remove(sequence: number): void
  /** Who is first among those armed, and when it is due. */
  first(): { sequence: number; dueMs: number } | null
  entries(): IterableIterator<[sequence: number, row: RetryRow]>
}

/** Nothing waits. `heap`: an empty one. */
export function createWaiting(heap: DueHeap = createDueHeap()): Waiting {
  const rows = new Map<number, RetryRow>()
  /** When the armed ones are due: an entry of the heap that says otherwise is an old one. */
  const armed = new Map<number, number>()
  /** Of the oldest, as far as it is known: looked for again only when that one has left. */
  let oldestMs: number | null = null
  let isOldestKnown = true
  const lookForOldest = (): void => {
    oldestMs = null
    for (const { recordedMs } of rows.values()) oldestMs = Math.min(oldestMs ?? recordedMs, recordedMs)
    isOldestKnown = true
  }
  return {
    get size() {
      return rows.size
    },
    get oldestMs() {
      if (!isOldestKnown) lookForOldest()
      return oldestMs
    },
    get: (sequence) => rows.get(sequence),
    put(sequence, row) {
      rows.set(sequence, row)
      armed.delete(sequence)
      oldestMs = Math.min(oldestMs ?? row.recordedMs, row.recordedMs)
    },
    arm(sequence, notBeforeMs = 0) {
      const row = rows.get(sequence)
      if (row === undefined || armed.has(sequence)) return
      const dueMs = Math.max(row.dueMs, notBeforeMs)
      armed.set(sequence, dueMs)
      heap.push({ dueMs, sequence })
      // Old entries leave at the top, which may be days ahead: they never outnumber the rows.
      if (heap.size > 2 * rows.size)
        heap.refill([...armed].map(([of, atMs]) => ({ sequence: of, dueMs: atMs })))
    },
    disarm: (sequence) => void armed.delete(sequence),
    remove(sequence) {
      if (rows.get(sequence)?.recordedMs === oldestMs) isOldestKnown = false
      rows.delete(sequence)
      armed.delete(sequence)
    },
    first() {
      for (let due = heap.peek(); due !== undefined; due = heap.peek()) {
        if (armed.get(due.sequence) === due.dueMs) return due
        heap.pop()
      }
      return null
    },
    entries: () => rows.entries(),
  }
}
