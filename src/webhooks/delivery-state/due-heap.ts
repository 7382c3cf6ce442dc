/** Keeps deliveries in a binary heap by the moment at which they are due, then by sequence. */

/** A delivery and when it is due. */
export interface Due {
  dueMs: number
  sequence: number
}

/** A heap of due deliveries. */
export interface DueHeap {
  readonly size: number
  /** The entry that is due first; undefined where there is none. */
  peek(): Due | undefined
  push(due: Due): void
  /** Replaces all entries. */
  refill(all: Iterable<Due>): void
  /** Removes the entry that is due first. */
  pop(): Due | undefined
}

/** An empty heap. */
export function createDueHeap(): DueHeap {
  const heap: Due[] = []
  /** True where the entry at `at` is due before the other; false for an index beyond the end. */
  const isBefore = (at: number, other: number): boolean => {
    const [one, two] = [heap[at], heap[other]]
    if (one === undefined || two === undefined) return false
    return one.dueMs === two.dueMs ? one.sequence < two.sequence : one.dueMs < two.dueMs
  }
  const swap = (one: number, other: number): void => {
    const [first, second] = [heap[one], heap[other]]
    if (first === undefined || second === undefined) return
    heap[one] = second
    heap[other] = first
  }
  const sink = (from: number): void => {
    for (let at = from; ; ) {
      const left = 2 * at + 1
      const child = isBefore(left + 1, left) ? left + 1 : left
      if (!isBefore(child, at)) return
      swap(child, at)
      at = child
    }
  }
  const push = (due: Due): void => {
    heap.push(due)
    for (let at = heap.length - 1; at > 0; ) {
      const parent = (at - 1) >> 1
      if (!isBefore(at, parent)) return
      swap(at, parent)
      at = parent
    }
  }
  return {
    get size() {
      return heap.length
    },
    peek: () => heap[0],
    push,
    refill(all) {
      heap.length = 0
      for (const due of all) push(due)
    },
    pop() {
      const first = heap[0]
      const last = heap.pop()
      if (first !== undefined && last !== undefined && heap.length > 0) {
        heap[0] = last
        sink(0)
      }
      return first
    },
  }
}
