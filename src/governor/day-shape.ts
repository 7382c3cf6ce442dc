/**
 * The rates of a usual business day, as a profile has them: stretches of constant rate with their sums. Owns how far a thin
 * cell borrows from its neighbours; pure. Refuses to know dates.
 */
import { type Profile, SLOT_S, slotOf } from './profile.ts'

/** No moment is so quiet that nothing is looked for: an item in eleven days, per second. */
const LOWEST_RATE = 1e-6
/** A cell that has seen fewer items than this takes its neighbours with it, up to so many on either side. */
const ENOUGH_ITEMS = 12
const MOST_NEIGHBOURS = 36
/** A neighbour is not taken that has seen more than so many times what the others expect of it, and so much more. */
const ALIKE_TIMES = 3
const ALIKE_ITEMS = 2

/** Stretches that follow each other from midnight to midnight. */
export interface DayShape {
  /** Where each stretch ends, seconds of the day, rising. */
  endsS: readonly number[]
  /** Items a second in each. */
  rates: readonly number[]
  /** Items from midnight to the end of each. */
  items: readonly number[]
  /** Seconds × √rate from midnight to the end of each. */
  roots: readonly number[]
  highestRate: number
}

/** Beliefs of cells beside each other. */
interface Cells {
  seen: readonly number[]
  over: readonly number[]
}

/** The shape of a usual business day. */
export function openShape(profile: Profile): DayShape {
  const sharp = new Map(profile.sharp.map((minute) => [minute.minuteOfDay, minute]))
  const sharpSlots = new Set(profile.sharp.map(({ minuteOfDay }) => slotOf(minuteOfDay)))
  const endsS: number[] = []
  const rates: number[] = []
  const slots: Cells = {
    seen: profile.slots.map(([seen]) => seen),
    over: profile.slots.map(([, over]) => over),
  }
  profile.slots.forEach((_, slot) => {
    const rate = pooled(slots, slot) / SLOT_S
    const startS = slot * SLOT_S
    if (!sharpSlots.has(slot)) {
      endsS.push(startS + SLOT_S)
      rates.push(rate)
      return
    }
    for (let minuteS = startS; minuteS < startS + SLOT_S; minuteS += 60) {
      const minute = sharp.get(minuteS / 60)
      if (minute === undefined) {
        endsS.push(minuteS + 60)
        rates.push(rate)
        continue
      }
      const cells: Cells = { seen: minute.seen, over: minute.seen.map(() => minute.days) }
      minute.seen.forEach((_seen, second) => {
        endsS.push(minuteS + second + 1)
        rates.push(pooled(cells, second))
      })
    }
  })
  return withSums(endsS, rates)
}

/** The same day, but as quiet as its last stretch from a second on: a half day. */
export function endedAt({ endsS, rates }: DayShape, releaseEndS: number): DayShape {
  const night = rates.at(-1) ?? 0
  return withSums(
    endsS,
    rates.map((rate, place) => ((endsS[place - 1] ?? 0) >= releaseEndS ? night : rate)),
  )
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

/** What a cell expects; where it has seen few items, together with as many alike cells around it as have seen enough. */
function pooled({ seen, over }: Cells, place: number): number {
  let items = seen[place] ?? 0
  let weight = over[place] ?? 1
  let left = true
  let right = true
  for (let step = 1; step <= MOST_NEIGHBOURS && items < ENOUGH_ITEMS && (left || right); step++) {
    for (const other of [place - step, place + step]) {
      if (!(other < place ? left : right)) continue
      const more = seen[other] ?? Number.POSITIVE_INFINITY
      const longer = over[other] ?? 0
      if (more <= ((ALIKE_TIMES * items) / weight) * longer + ALIKE_ITEMS) {
        items += more
        weight += longer
      } else if (other < place) left = false
      else right = false
    }
  }
  return items / weight
}

function withSums(endsS: readonly number[], expected: readonly number[]): DayShape {
  const rates = expected.map((rate) => Math.max(LOWEST_RATE, rate))
  const items: number[] = []
  const roots: number[] = []
  let [itemsTo, rootsTo, highestRate, startS] = [0, 0, 0, 0]
  rates.forEach((rate, place) => {
    const endS = endsS[place] ?? 86_400
    itemsTo += (endS - startS) * rate
    rootsTo += (endS - startS) * Math.sqrt(rate)
    highestRate = Math.max(highestRate, rate)
    items.push(itemsTo)
    roots.push(rootsTo)
    startS = endS
  })
  return { endsS, rates, items, roots, highestRate }
}
