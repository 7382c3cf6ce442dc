/**
 * How far a thin cell of a profile borrows from its neighbours. Owns what a cell then expects, and that only what a change
 * can reach is reckoned again. Refuses to know what a cell stands for.
 */

/** A cell that has seen fewer items than this takes its neighbours with it, up to so many on either side. */
const ENOUGH_ITEMS = 12
const MOST_NEIGHBOURS = 36
/** A neighbour is not taken that has seen more than so many times what the others expect of it, and so much more. */
const ALIKE_TIMES = 3
const ALIKE_ITEMS = 2

/** Beliefs of cells beside each other: items seen, and over how much. */
export interface Cells {
  seen: Float64Array
  over: Float64Array
}

/** What each of some cells expects, and how many steps to either side it looked for that. */
interface Pooled {
  cells: Cells
  rates: Float64Array
  steps: Uint8Array
}

/**
 * Gives what cells expect; where one has seen few items, together with as many alike cells around it as have seen enough.
 * Asked again with as many cells, it reckons anew only those that looked at a cell that has changed.
 */
export function createPooling(): (cells: Cells) => Float64Array {
  let known: Pooled | null = null
  return (cells) => {
    const { length } = cells.seen
    const before = known?.rates.length === length ? known : null
    const next: Pooled = {
      cells,
      rates: before?.rates.slice() ?? new Float64Array(length),
      steps: before?.steps.slice() ?? new Uint8Array(length),
    }
    const stale = before === null ? new Uint8Array(length).fill(1) : staleCells(before, cells)
    for (let place = 0; place < length; place++) if (stale[place] === 1) pool(next, place)
    known = next
    return next.rates
  }
}

/** Marks those that looked at a cell that is not the same any more. */
function staleCells(before: Pooled, { seen, over }: Cells): Uint8Array {
  const stale = new Uint8Array(seen.length)
  for (let changed = 0; changed < seen.length; changed++) {
    if (seen[changed] === before.cells.seen[changed] && over[changed] === before.cells.over[changed]) continue
    const last = Math.min(seen.length - 1, changed + MOST_NEIGHBOURS)
    for (let place = Math.max(0, changed - MOST_NEIGHBOURS); place <= last; place++) {
      if (Math.abs(place - changed) <= (before.steps[place] ?? 0)) stale[place] = 1
    }
  }
  return stale
}

function pool({ cells: { seen, over }, rates, steps }: Pooled, place: number): void {
  let items = seen[place] ?? 0
  let weight = over[place] ?? 1
  let left = true
  let right = true
  let step = 1
  for (; step <= MOST_NEIGHBOURS && items < ENOUGH_ITEMS && (left || right); step++) {
    for (let side = -1; side <= 1; side += 2) {
      if (!(side < 0 ? left : right)) continue
      const other = place + side * step
      const isInside = other >= 0 && other < seen.length
      const more = seen[other] ?? 0
      const longer = over[other] ?? 0
      if (isInside && more <= ((ALIKE_TIMES * items) / weight) * longer + ALIKE_ITEMS) {
        items += more
        weight += longer
      } else if (side < 0) left = false
      else right = false
    }
  }
  rates[place] = items / weight
  steps[place] = step - 1
}
