/**
 * Estimates the item rate of each cell (a time slot or a second) of the arrival profile. The profile holds item rates by
 * time of day, learnt from polls. A cell with few items is pooled with similar neighbours, because its own count is too
 * small for an estimate.
 */

/** A cell with fewer items than this is pooled with up to this many neighbours on either side. */
const ENOUGH_ITEMS = 12
const MAX_NEIGHBOURS = 36
/** A neighbour with more than this multiple of the pooled rate, plus this many items, ends the pooling on its side. */
const SIMILAR_FACTOR = 3
const SIMILAR_ITEMS = 2

/** Neighbouring cells: items seen in each, and over what exposure. */
export interface Cells {
  seen: ArrayLike<number>
  over: ArrayLike<number>
}

/** Items per unit of exposure that each cell expects. */
export function pooledRates(cells: Cells): Float64Array {
  const rates = new Float64Array(cells.seen.length)
  for (let index = 0; index < rates.length; index++) rates[index] = pooledRate(cells, index)
  return rates
}

function pooledRate({ seen, over }: Cells, index: number): number {
  let items = seen[index] ?? 0
  let exposure = over[index] ?? 1
  let [left, right] = [true, true]
  for (let step = 1; step <= MAX_NEIGHBOURS && items < ENOUGH_ITEMS && (left || right); step++) {
    for (let side = -1; side <= 1; side += 2) {
      if (!(side < 0 ? left : right)) continue
      const other = index + side * step
      const isInside = other >= 0 && other < seen.length
      const otherItems = isInside ? (seen[other] ?? 0) : Number.POSITIVE_INFINITY
      const otherExposure = isInside ? (over[other] ?? 0) : 0
      if (otherItems <= ((SIMILAR_FACTOR * items) / exposure) * otherExposure + SIMILAR_ITEMS) {
        items += otherItems
        exposure += otherExposure
      } else if (side < 0) left = false
      else right = false
    }
  }
  return items / exposure
}
