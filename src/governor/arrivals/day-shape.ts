/**
 * Computes the arrival rates of a usual business day from the profile, as segments of constant rate with running sums.
 */
import { meanOf } from './london-day.ts'
import { pooledRates } from './pooling.ts'
import { type BurstMinute, type Profile, SLOT_S, slotOf } from './profile.ts'

/** Rates below this count as this: an item in eleven days, per second. */
const LOWEST_RATE = 1e-6

/** Consecutive segments from midnight to midnight. */
export interface DayShape {
  /** End of each segment, second of the day, rising. */
  endsS: ArrayLike<number>
  /** Items a second in each segment. */
  rates: ArrayLike<number>
  /** Items from midnight to the end of each segment. */
  items: ArrayLike<number>
  /** Seconds × √rate from midnight to the end of each segment. */
  roots: ArrayLike<number>
}

/** The shape of a usual business day: slots of five minutes, burst minutes second by second. */
export function businessDayShape({ slots, sharp }: Profile): DayShape {
  const slotItems = pooledRates({
    seen: Float64Array.from(slots, ([seen]) => seen),
    over: Float64Array.from(slots, ([, over]) => over),
  })
  const bursts = new Map(sharp.map((minute) => [minute.minuteOfDay, minute]))
  const burstSlots = new Set(sharp.map(({ minuteOfDay }) => slotOf(minuteOfDay)))
  const endsS: number[] = []
  const rates: number[] = []
  const add = (endS: number, rate: number): void => {
    endsS.push(endS)
    rates.push(rate)
  }
  slotItems.forEach((items, slot) => {
    const startS = slot * SLOT_S
    const rate = items / SLOT_S
    if (!burstSlots.has(slot)) {
      add(startS + SLOT_S, rate)
      return
    }
    for (let minuteS = startS; minuteS < startS + SLOT_S; minuteS += 60) {
      const burst = bursts.get(minuteS / 60)
      if (burst === undefined) add(minuteS + 60, rate)
      else for (const [second, each] of secondRates(burst).entries()) add(minuteS + second + 1, each)
    }
  })
  return withSums(endsS, rates)
}

function secondRates({ seen, days }: BurstMinute): Float64Array {
  return pooledRates({ seen, over: seen.map(() => days) })
}

/** The shape of a half day: from `releaseEndS` on as quiet as the last segment. */
export function truncatedShape({ endsS, rates }: DayShape, releaseEndS: number): DayShape {
  const night = rates[rates.length - 1] ?? 0
  const truncated = Array.from(rates, (rate, index) =>
    (endsS[index - 1] ?? 0) >= releaseEndS ? night : rate,
  )
  return withSums(endsS, truncated)
}

/** The shape of a closed day: its expected items spread evenly. */
export function closedDayShape({ closed }: Profile): DayShape {
  return withSums([86_400], [meanOf(closed) / 86_400])
}

/** Index of the segment that contains a second of the day. */
export function segmentAt({ endsS }: DayShape, second: number): number {
  let low = 0
  let high = endsS.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((endsS[middle] ?? 0) > second) high = middle
    else low = middle + 1
  }
  return low
}

function withSums(endsS: ArrayLike<number>, expected: readonly number[]): DayShape {
  const rates = Float64Array.from(expected, (rate) => Math.max(LOWEST_RATE, rate))
  const items = new Float64Array(rates.length)
  const roots = new Float64Array(rates.length)
  let [itemsSum, rootsSum, startS] = [0, 0, 0]
  rates.forEach((rate, index) => {
    const endS = endsS[index] ?? 86_400
    itemsSum += (endS - startS) * rate
    rootsSum += (endS - startS) * Math.sqrt(rate)
    items[index] = itemsSum
    roots[index] = rootsSum
    startS = endS
  })
  return { endsS, rates, items, roots }
}
