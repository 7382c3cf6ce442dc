/**
 * Queues received messages between a socket that cannot be paused and a slower reader, bounded by characters of text.
 * Drops nothing: the producer checks `isFull` and stops reading.
 */

/** A queue with one reader. */
export interface Inbox<T> {
  /** Adds an item; `chars` counts towards the bound. */
  push(item: T, chars: number): void
  /** No more should be pushed until `room` resolves. The item that fills the queue is kept too. */
  readonly isFull: boolean
  /** Resolves when three quarters are free, or when the inbox has ended. */
  room(): Promise<void>
  /** The next item; null after `end` once the queue is empty. One call at a time. */
  next(): Promise<T | null>
  /** Nothing more comes. `discard` drops the items that were not taken yet. */
  end(discard: boolean): void
}

/** An empty inbox that is full at `limitChars`. */
export function createInbox<T>(limitChars: number): Inbox<T> {
  let items: { item: T; chars: number }[] = []
  /** Index of the first item not taken; the array is compacted now and then, not at each item. */
  let first = 0
  let heldChars = 0
  let hasEnded = false
  let onItem = (): void => {}
  let onRoom = (): void => {}
  const hasRoom = (): boolean => hasEnded || heldChars <= limitChars / 4
  const take = (): T | null => {
    const entry = items[first]
    if (entry === undefined) return null
    first += 1
    if (first * 2 > items.length) {
      items = items.slice(first)
      first = 0
    }
    heldChars -= entry.chars
    if (hasRoom()) onRoom()
    return entry.item
  }
  return {
    push(item, chars) {
      items.push({ item, chars })
      heldChars += chars
      onItem()
    },
    get isFull() {
      return heldChars >= limitChars
    },
    async room() {
      if (hasRoom()) return
      await new Promise<void>((resolve) => {
        onRoom = resolve
      })
    },
    async next() {
      if (first === items.length && !hasEnded) {
        await new Promise<void>((resolve) => {
          onItem = resolve
        })
      }
      return take()
    },
    end(discard) {
      hasEnded = true
      if (discard) items = []
      if (discard) first = 0
      onItem()
      onRoom()
    },
  }
}
