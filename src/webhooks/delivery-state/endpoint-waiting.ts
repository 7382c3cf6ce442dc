/**
 * Keeps the waiting deliveries of an endpoint as rows, and finds the one that is due first. Bodies are not kept: a waiting
 * delivery costs half a kilobyte.
 */
import type { RetryRow } from './delivery-rows.ts'
import { createDueHeap, type DueHeap } from './due-heap.ts'

/** Most waiting deliveries of an endpoint, with those that wait for an earlier one of their issuer; then reading waits. */
export const MOST_WAITING = 1000

/** The waiting deliveries of one endpoint. */
export interface Waiting {
  readonly size: number
  /** When the oldest of them was recorded, ms since 1970; null where none waits. */
  readonly oldestMs: number | null
  get(sequence: number): RetryRow | undefined
  /** Adds or replaces a row; it is not due before `arm`. */
  put(sequence: number, row: RetryRow): void
  /** Makes it due at its row's `dueMs`, or at a later moment. Does nothing where it does not wait. */
  arm(sequence: number, notBeforeMs?: number): void
  /** It is in flight: not due until it is armed again. */
  disarm(sequence: number): void
  remove(sequence: number): void
  /** The armed one that is due first. */
  first(): { sequence: number; dueMs: number } | null
  entries(): IterableIterator<[sequence: number, row: RetryRow]>
}

/** Nothing waits. `heap` must be empty. */
export function createWaiting(heap: DueHeap = createDueHeap()): Waiting {
  const rows = new Map<number, RetryRow>()
  /** When the armed ones are due; a heap entry with another moment is outdated. */
  const armed = new Map<number, number>()
  /** When the oldest was recorded, as far as known: searched again only after that one was removed. */
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
      // Outdated entries leave the heap only at the top, which may take days: they must never outnumber the rows.
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
