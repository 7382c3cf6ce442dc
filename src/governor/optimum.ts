/**
 * The yardstick: the least delay that any fixed placing of so many polls can reach on known arrivals. Exact, by a shortest
 * path with a price on polls (Lagrange) and a hull of lines. Owns that optimum; pure. Refuses to be a plan: nobody knows
 * the arrivals beforehand.
 */

/** Arrivals at moments, in seconds from any start, rising; `items` may be a fraction where they are expected ones. */
export interface Arrivals {
  atS: readonly number[]
  items: readonly number[]
}

/** Halvings of the price: beyond these two neighbours differ by less than a poll in a week. */
const HALVINGS = 60

/** Where polls are best placed. */
export interface Placing {
  /** Moments of the polls, as in the arrivals, rising. */
  pollsS: readonly number[]
  /** Sum of the delays, item-seconds. */
  delay: number
}

/**
 * The placing with the least sum of delays of all with `polls` polls, or with as few more as a price can tell apart; a poll
 * sees what has arrived by its moment, and the last one is not before the last arrival.
 */
export function bestPlacing(arrivals: Arrivals, polls: number): Placing {
  if (arrivals.atS.length <= polls) return { pollsS: arrivals.atS, delay: 0 }
  let cheap = 0
  let dear = priceOfOne(arrivals)
  let more = placingAt(arrivals, cheap)
  let fewer = placingAt(arrivals, dear)
  for (let halving = 0; halving < HALVINGS && more.pollsS.length - fewer.pollsS.length > 1; halving++) {
    const price = (cheap + dear) / 2
    const placing = placingAt(arrivals, price)
    if (placing.pollsS.length >= polls) {
      more = placing
      cheap = price
    } else {
      fewer = placing
      dear = price
    }
  }
  return more
}

/** A price at which one poll is all that pays. */
function priceOfOne({ atS, items }: Arrivals): number {
  const lasts = (atS.at(-1) ?? 0) - (atS[0] ?? 0)
  return 1 + lasts * items.reduce((sum, each) => sum + each, 0)
}

/**
 * The best placing where each poll costs so many item-seconds. A poll at arrival j after one at i costs
 * `t_j (N_j − N_i) − (M_j − M_i)`: a line in t_j for each i, with falling slopes, asked at rising t_j.
 */
function placingAt({ atS, items }: Arrivals, price: number): Placing {
  const slopes: number[] = [0]
  const heights: number[] = [0]
  /** The arrival that each line stands for; −1 = before the first. */
  const places: number[] = [-1]
  const before: number[] = []
  let head = 0
  let arrived = 0
  let moments = 0
  let least = 0
  atS.forEach((at, place) => {
    arrived += items[place] ?? 0
    moments += at * (items[place] ?? 0)
    const heightAt = (line: number): number => (heights[line] ?? 0) + (slopes[line] ?? 0) * at
    while (head + 1 < slopes.length && heightAt(head + 1) <= heightAt(head)) head++
    least = heightAt(head) + at * arrived - moments + price
    before.push(places[head] ?? -1)
    push(least + moments, -arrived, place)
  })
  const pollsS: number[] = []
  for (let place = atS.length - 1; place >= 0; place = before[place] ?? -1) pollsS.push(atS[place] ?? 0)
  return { pollsS: pollsS.reverse(), delay: least - price * pollsS.length }

  function push(height: number, slope: number, place: number): void {
    while (slopes.length - head >= 2) {
      const last = slopes.length - 1
      const [a, b] = [slopes[last - 1] ?? 0, slopes[last] ?? 0]
      const [u, v] = [heights[last - 1] ?? 0, heights[last] ?? 0]
      // The last line is nowhere lowest between its neighbours.
      if ((height - u) * (a - b) > (v - u) * (a - slope)) break
      slopes.pop()
      heights.pop()
      places.pop()
    }
    slopes.push(slope)
    heights.push(height)
    places.push(place)
  }
}
