/** Hands out a limited number of places, of which one holder may have a share: no tenant takes what all tenants share. */

/** Why there is no place: all are taken, or as many as one holder may have. */
export type NoPlace = 'full' | 'share_full'

/** A limited number of places. */
export type Places = ReturnType<typeof createPlaces>

/** So many free places, and the most that one holder may have. */
export function createPlaces(limit: number, share: number) {
  const shares = createShares(share)
  let taken = 0
  return {
    limit,
    share,
    /** How many are taken. */
    get taken(): number {
      return taken
    },
    /** Whether `take` gives that holder a place now. */
    hasRoomFor: (holder: string): boolean => taken < limit && shares.taken(holder) < share,
    /** Takes a place for that holder. Returns the function that frees it, callable twice. */
    take(holder: string): (() => void) | NoPlace {
      const freeShare = shares.take(holder)
      if (freeShare === null) return 'share_full'
      if (taken >= limit) {
        freeShare()
        return 'full'
      }
      taken += 1
      return once(() => {
        taken -= 1
        freeShare()
      })
    },
  }
}

/** Places of which only the share of each holder is limited. Holders without any take no memory. */
export function createShares(share: number) {
  const byHolder = new Map<string, number>()
  const taken = (holder: string): number => byHolder.get(holder) ?? 0
  return {
    /** How many that holder has. */
    taken,
    /** Takes a place for that holder. Returns the function that frees it, callable twice; null where it has its share. */
    take(holder: string): (() => void) | null {
      if (taken(holder) >= share) return null
      byHolder.set(holder, taken(holder) + 1)
      return once(() => {
        const left = taken(holder) - 1
        if (left > 0) byHolder.set(holder, left)
        else byHolder.delete(holder)
      })
    },
  }
}

/** The function, which does nothing from its second call on. */
export function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    work()
  }
}
