/**
 * Computes the least delay that any fixed timetable with a given number of polls can reach on known arrivals. It is
 * exact: a shortest path with a price per poll (Lagrange) and a hull of lines. It is only a yardstick, because a real
 * poller does not know the arrivals in advance.
 */

/** Arrivals at moments, in seconds from any start, rising; `items` may be a fraction where they are expected ones. */
export interface Arrivals {
  atS: ArrayLike<number>
  items: ArrayLike<number>
}

/** Prices this near, as a share of them, are one: where several polls begin to pay at once, none lies between. */
const NEAREST = 1e-9
/** The first price below the dearest one, and the next, until one is cheap enough. */
const CHEAPER = 1 / 1000

/** Where polls are best placed. */
export interface Placing {
  /** Moments of the polls, as in the arrivals, rising. */
  pollsS: readonly number[]
  /** Sum of the delays, item-seconds. */
  delay: number
}

/**
 * The placing with the least sum of delays of all with `polls` polls, or of all with the fewest more at which a poll has a
 * price; a poll sees what has arrived by its moment, and the last one is not before the last arrival.
 */
export function bestTimetable(arrivals: Arrivals, polls: number): Placing {
  const { atS } = arrivals
  if (atS.length <= polls) return { pollsS: Array.from(atS), delay: 0 }
  let cheap = 0
  let dear = priceOfOne(arrivals)
  let more = placingAt(arrivals, cheap)
  let fewer = placingAt(arrivals, dear)
  while (more.pollsS.length - fewer.pollsS.length > 1 && dear - cheap > dear * NEAREST) {
    const price = cheap === 0 ? dear * CHEAPER : Math.sqrt(cheap * dear)
    const placing = placingAt(arrivals, price)
    if (placing.pollsS.length === polls) return placing
    if (placing.pollsS.length > polls) {
      more = placing
      cheap = price
    } else {
      fewer = placing
      dear = price
    }
  }
  return joined(arrivals, more, fewer, polls)
}

/**
 * Two placings that are best at the same price may be joined at any poll that both have, and are as good: the one with
 * the fewest polls, but no fewer than `polls`.
 */
function joined(arrivals: Arrivals, more: Placing, fewer: Placing, polls: number): Placing {
  let best = more.pollsS
  const placeInFewer = new Map(fewer.pollsS.map((at, place) => [at, place]))
  more.pollsS.forEach((at, place) => {
    const other = placeInFewer.get(at)
    if (other === undefined) return
    for (const [head, headPlace, tail, tailPlace] of [
      [more.pollsS, place, fewer.pollsS, other],
      [fewer.pollsS, other, more.pollsS, place],
    ] as const) {
      const count = headPlace + tail.length - tailPlace
      if (count >= polls && count < best.length)
        best = [...head.slice(0, headPlace), ...tail.slice(tailPlace)]
    }
  })
  return { pollsS: best, delay: delayOf(arrivals, best) }
}

/** Sum of the delays with these polls, rising, item-seconds; what arrives after the last one has none. */
export function delayOf({ atS, items }: Arrivals, pollsS: readonly number[]): number {
  let [delay, poll] = [0, 0]
  for (let place = 0; place < atS.length; place++) {
    const at = atS[place] ?? 0
    while ((pollsS[poll] ?? at) < at) poll++
    delay += ((pollsS[poll] ?? at) - at) * (items[place] ?? 0)
  }
  return delay
}

/** A price at which one poll is all that pays. */
function priceOfOne({ atS, items }: Arrivals): number {
  const lasts = (atS[atS.length - 1] ?? 0) - (atS[0] ?? 0)
  let all = 0
  for (let place = 0; place < items.length; place++) all += items[place] ?? 0
  return 1 + lasts * all
}

/**
 * The best placing where each poll costs so many item-seconds. A poll at arrival j after one at i costs
 * `t_j (N_j − N_i) − (M_j − M_i)`: a line in t_j for each i, with falling slopes, asked at rising t_j.
 */
function placingAt({ atS, items }: Arrivals, price: number): Placing {
  const slopes = new Float64Array(atS.length + 1)
  const heights = new Float64Array(atS.length + 1)
  /** The arrival that each line stands for; −1 = before the first. */
  const places = new Int32Array(atS.length + 1).fill(-1, 0, 1)
  const before = new Int32Array(atS.length)
  let head = 0
  let last = 0
  let arrived = 0
  let moments = 0
  let least = 0
  for (let place = 0; place < atS.length; place++) {
    const at = atS[place] ?? 0
    arrived += items[place] ?? 0
    moments += at * (items[place] ?? 0)
    let lowest = heightAt(head, at)
    for (; head < last; head++) {
      const next = heightAt(head + 1, at)
      if (next > lowest) break
      lowest = next
    }
    least = lowest + at * arrived - moments + price
    before[place] = places[head] ?? -1
    push(least + moments, -arrived, place)
  }
  const pollsS: number[] = []
  for (let place = atS.length - 1; place >= 0; place = before[place] ?? -1) pollsS.push(atS[place] ?? 0)
  return { pollsS: pollsS.reverse(), delay: least - price * pollsS.length }

  function heightAt(line: number, at: number): number {
    return (heights[line] ?? 0) + (slopes[line] ?? 0) * at
  }

  function push(height: number, slope: number, place: number): void {
    while (last > head) {
      const a = slopes[last - 1] ?? 0
      const b = slopes[last] ?? 0
      const u = heights[last - 1] ?? 0
      const v = heights[last] ?? 0
      // The last line is nowhere lowest between its neighbours.
      if ((height - u) * (a - b) > (v - u) * (a - slope)) break
      last -= 1
    }
    last += 1
    slopes[last] = slope
    heights[last] = height
    places[last] = place
  }
}
