/**
 * The rates of a usual business day, as a profile has them: stretches of constant rate with their sums. Owns
 * them; how far a thin cell borrows is `pooling.ts`. Refuses to know dates.
 */
import { type Cells, createPooling } from './pooling.ts'
import { type Profile, type SharpMinute, SLOT_S, slotOf } from './profile.ts'

/** No moment is so quiet that nothing is looked for: an item in eleven days, per second. */
const LOWEST_RATE = 1e-6

/** Stretches that follow each other from midnight to midnight. */
export interface DayShape {
  /** Where each stretch ends, seconds of the day, rising. */
  endsS: ArrayLike<number>
  /** Items a second in each. */
  rates: ArrayLike<number>
  /** Items from midnight to the end of each. */
  items: ArrayLike<number>
  /** Seconds × √rate from midnight to the end of each. */
  roots: ArrayLike<number>
  highestRate: number
}

/**
 * Gives the shape of a usual business day; written for speed, as each poll asks with a profile that has learnt a little:
 * what has not changed since the question before is not reckoned again.
 */
export function openShapes(): (profile: Profile) => DayShape {
  const known = new WeakMap<SharpMinute, Float64Array>()
  const pooled = createPooling()
  const ratesOf = (minute: SharpMinute): Float64Array => {
    const rates = known.get(minute) ?? secondRates(minute)
    known.set(minute, rates)
    return rates
  }
  return (profile) => openShape(profile, pooled(slotCells(profile)), ratesOf)
}

/** `slotItems`: what each slot expects. */
function openShape(
  profile: Profile,
  slotItems: Float64Array,
  ratesOf: (minute: SharpMinute) => Float64Array,
): DayShape {
  const sharp = new Map(profile.sharp.map((minute) => [minute.minuteOfDay, minute]))
  const sharpSlots = new Set(profile.sharp.map(({ minuteOfDay }) => slotOf(minuteOfDay)))
  const stretches = profile.slots.length + sharpSlots.size * (SLOT_S / 60 - 1) + sharp.size * 59
  const endsS = new Float64Array(stretches)
  const rates = new Float64Array(stretches)
  let place = 0
  const add = (endS: number, rate: number): void => {
    endsS[place] = endS
    rates[place] = rate
    place += 1
  }
  for (let slot = 0; slot < profile.slots.length; slot++) {
    const rate = (slotItems[slot] ?? 0) / SLOT_S
    const startS = slot * SLOT_S
    if (!sharpSlots.has(slot)) {
      add(startS + SLOT_S, rate)
      continue
    }
    for (let minuteS = startS; minuteS < startS + SLOT_S; minuteS += 60) {
      const minute = sharp.get(minuteS / 60)
      if (minute === undefined) add(minuteS + 60, rate)
      else for (const [second, rate] of ratesOf(minute).entries()) add(minuteS + second + 1, rate)
    }
  }
  return withSums(endsS, rates)
}

function secondRates({ seen, days }: SharpMinute): Float64Array {
  return createPooling()({ seen: Float64Array.from(seen), over: new Float64Array(seen.length).fill(days) })
}

/** The same day, but as quiet as its last stretch from a second on: a half day. */
export function endedAt({ endsS, rates }: DayShape, releaseEndS: number): DayShape {
  const night = rates[rates.length - 1] ?? 0
  const ended = Float64Array.from(rates, (rate, place) =>
    (endsS[place - 1] ?? 0) >= releaseEndS ? night : rate,
  )
  return withSums(endsS, ended)
}

/** A day of which only its number of items is known. */
export function evenShape(items: number): DayShape {
  return withSums([86_400], [items / 86_400])
}

/** The stretch that holds a second of the day. */
export function stretchAt({ endsS }: DayShape, second: number): number {
  let low = 0
  let high = endsS.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((endsS[middle] ?? 0) > second) high = middle
    else low = middle + 1
  }
  return low
}

function slotCells({ slots }: Profile): Cells {
  const seen = new Float64Array(slots.length)
  const over = new Float64Array(slots.length)
  for (let slot = 0; slot < slots.length; slot++) {
    const belief = slots[slot]
    seen[slot] = belief?.[0] ?? 0
    over[slot] = belief?.[1] ?? 1
  }
  return { seen, over }
}

function withSums(endsS: ArrayLike<number>, expected: ArrayLike<number>): DayShape {
  const rates = new Float64Array(expected.length)
  const items = new Float64Array(expected.length)
  const roots = new Float64Array(expected.length)
  let [itemsTo, rootsTo, highestRate, startS] = [0, 0, 0, 0]
  for (let place = 0; place < rates.length; place++) {
    const rate = Math.max(LOWEST_RATE, expected[place] ?? 0)
    const endS = endsS[place] ?? 86_400
    itemsTo += (endS - startS) * rate
    rootsTo += (endS - startS) * Math.sqrt(rate)
    highestRate = Math.max(highestRate, rate)
    rates[place] = rate
    items[place] = itemsTo
    roots[place] = rootsTo
    startS = endS
  }
  return { endsS, rates, items, roots, highestRate }
}
