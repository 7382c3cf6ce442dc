/** A heap of what falls due: the earliest first, then the lowest sequence. Owns the order. Refuses to know what is due. */

/** An entry. */
export interface Due {
  dueMs: number
  sequence: number
}

export interface DueHeap {
  readonly size: number
  /** The first one; undefined where there is none. */
  peek(): Due | undefined
  push(due: Due): void
  /** Holds these and nothing else. */
  refill(all: Iterable<Due>): void
  /** Takes the first one out. */
  pop(): Due | undefined
}

/** An empty heap. */
export function createDueHeap(): DueHeap {
  const heap: Due[] = []
  /** True where the one at `at` comes before the other; an index beyond the end never does. */
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
