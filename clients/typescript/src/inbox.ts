/**
 * What has come and is not taken yet, between a socket that cannot be paused and a reader who takes his time. Owns the
 * bound, in characters of text. Refuses to drop anything: whoever fills it is told that it is full, and stops.
 */

/** A queue with one reader. */
export interface Inbox<T> {
  /** Adds an item of so many characters. */
  push(item: T, chars: number): void
  /** No more should be pushed until `room`. The item that fills it is kept too. */
  readonly isFull: boolean
  /** Resolves when three quarters are free, or when the inbox has ended. */
  room(): Promise<void>
  /** The next item; null after `end` when the last one was taken. One call at a time. */
  next(): Promise<T | null>
  /** Nothing more comes. `discard`: what was not taken is forgotten. */
  end(discard: boolean): void
}

/** An empty inbox that is full at `limitChars`. */
export function createInbox<T>(limitChars: number): Inbox<T> {
  let items: { item: T; chars: number }[] = []
  /** Place of the first item not taken; the list is cut now and then, not at each one. */
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
