/** Hands out a limited number of places, of which one holder may have a share: no tenant takes what all tenants share. */

/** Why there is no place: all are taken, or as many as one holder may have. */
export type NoPlace = 'full' | 'share_full'

/** A limited number of places. */
export type Places = ReturnType<typeof createPlaces>

/** So many free places, and the most that one holder may have. */
export function createPlaces(limit: number, share: number) {
  const byHolder = new Map<string, number>()
  let taken = 0
  return {
    limit,
    share,
    /** How many are taken. */
    get taken(): number {
      return taken
    },
    /** Whether `take` gives that holder a place now. */
    hasRoomFor: (holder: string): boolean => taken < limit && (byHolder.get(holder) ?? 0) < share,
    /** Takes a place for that holder. Returns the function that frees it, callable twice. */
    take(holder: string): (() => void) | NoPlace {
      const own = byHolder.get(holder) ?? 0
      if (own >= share) return 'share_full'
      if (taken >= limit) return 'full'
      byHolder.set(holder, own + 1)
      taken += 1
      let isFree = false
      return () => {
        if (isFree) return
        isFree = true
        taken -= 1
        const left = (byHolder.get(holder) ?? 1) - 1
        if (left > 0) byHolder.set(holder, left)
        else byHolder.delete(holder)
      }
    },
  }
}
