/**
 * Computes when items arrive on a usual business day, half day or closed day, as segments of constant rate with running
 * sums. The rates come from the arrival profile: item rates by time of day, learnt from earlier polls.
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
  highestRate: number
}

/** Returns a function that computes the shape of a usual business day and reuses what an earlier profile shared with it. */
export function createBusinessDays(): (profile: Profile) => DayShape {
  const burstRates = new WeakMap<BurstMinute, Float64Array>()
  let last: { profile: Profile; shape: DayShape } | null = null
  const secondRates = (minute: BurstMinute): Float64Array => {
    const rates = burstRates.get(minute) ?? pooledSeconds(minute)
    burstRates.set(minute, rates)
    return rates
  }
  return (profile) => {
    if (last?.profile !== profile) last = { profile, shape: businessDayShape(profile, secondRates) }
    return last.shape
  }
}

/** Slots of five minutes, burst minutes second by second. */
function businessDayShape(
  { slots, sharp }: Profile,
  secondRates: (minute: BurstMinute) => Float64Array,
): DayShape {
  const seen = new Float64Array(slots.length)
  const over = new Float64Array(slots.length)
  for (let slot = 0; slot < slots.length; slot++) [seen[slot], over[slot]] = slots[slot] ?? [0, 1]
  const slotItems = pooledRates({ seen, over })
  const bursts = new Map(sharp.map((minute) => [minute.minuteOfDay, minute]))
  const burstSlots = new Set(sharp.map(({ minuteOfDay }) => slotOf(minuteOfDay)))
  const endsS: number[] = []
  const rates: number[] = []
  for (let slot = 0; slot < slots.length; slot++) {
    const startS = slot * SLOT_S
    const stepS = burstSlots.has(slot) ? 60 : SLOT_S
    for (let atS = startS; atS < startS + SLOT_S; atS += stepS) {
      const burst = bursts.get(atS / 60)
      if (burst === undefined) {
        endsS.push(atS + stepS)
        rates.push((slotItems[slot] ?? 0) / SLOT_S)
        continue
      }
      const seconds = secondRates(burst)
      for (let second = 0; second < seconds.length; second++) {
        endsS.push(atS + second + 1)
        rates.push(seconds[second] ?? 0)
      }
    }
  }
  return withSums(endsS, rates)
}

function pooledSeconds({ seen, days }: BurstMinute): Float64Array {
  return pooledRates({ seen: Float64Array.from(seen), over: new Float64Array(seen.length).fill(days) })
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

function withSums(endsS: ArrayLike<number>, expected: ArrayLike<number>): DayShape {
  const rates = new Float64Array(expected.length)
  const items = new Float64Array(expected.length)
  const roots = new Float64Array(expected.length)
  let [itemsSum, rootsSum, highestRate, startS] = [0, 0, 0, 0]
  for (let index = 0; index < rates.length; index++) {
    const rate = Math.max(LOWEST_RATE, expected[index] ?? 0)
    const endS = endsS[index] ?? 86_400
    itemsSum += (endS - startS) * rate
    rootsSum += (endS - startS) * Math.sqrt(rate)
    highestRate = Math.max(highestRate, rate)
    rates[index] = rate
    items[index] = itemsSum
    roots[index] = rootsSum
    startS = endS
  }
  return { endsS, rates, items, roots, highestRate }
}
