/**
 * How dear a poll is. Owns the √ rule under budgets: the rate of polling is `pace` × √(arrivals a second), at most the
 * plan's; the pace is the highest that every budget pays. Pure. Refuses to place polls (`poll-scheduler.ts`).
 */
import { eachRate, highestRate, type Outlook, rootsUntil } from '../arrivals/forecast.ts'

/** So many polls may be made before that moment. */
export interface Budget {
  untilMs: number
  polls: number
}

/** Rounds until the polls at full rate are told from the others; each only adds to the former. */
const ROUNDS = 20

/**
 * The pace that the tightest budget pays; Infinity where all of them pay for the full rate throughout. A poll is then
 * worth 1 / (2 pace²) item-seconds of delay. Budgets reach no further than the outlook.
 */
export function paceOf(ahead: Outlook, budgets: readonly Budget[], mostPerSecond: number): number {
  const scarce = budgets
    .filter(({ untilMs, polls }) => ((untilMs - ahead.fromMs) / 1000) * mostPerSecond > polls)
    .map((budget) => ({ budget, pace: plainPace(ahead, budget) }))
  const [first] = scarce
  if (first === undefined) return Number.POSITIVE_INFINITY
  const tightest = scarce.reduce((least, other) => (other.pace < least.pace ? other : least), first)
  return cappedPace(ahead, tightest, mostPerSecond)
}

/** Polls that this pace makes from the outlook's start until a moment. */
export function pollsUntil(ahead: Outlook, pace: number, untilMs: number, mostPerSecond: number): number {
  const most = (mostPerSecond * Math.max(0, untilMs - ahead.fromMs)) / 1000
  if (pace === Number.POSITIVE_INFINITY) return most
  if (!isCapped(ahead, pace, mostPerSecond)) return pace * rootsUntil(ahead, untilMs)
  const { full, roots } = atFullRate(ahead, pace, untilMs, mostPerSecond)
  return full + pace * roots
}

function plainPace(ahead: Outlook, { untilMs, polls }: Budget): number {
  return polls / Math.max(rootsUntil(ahead, untilMs), Number.MIN_VALUE)
}

/** Polls that would be faster than the plan are made at its rate, and the rest shared anew among the others. */
function cappedPace(
  ahead: Outlook,
  { budget: { untilMs, polls }, pace: plain }: { budget: Budget; pace: number },
  mostPerSecond: number,
): number {
  let pace = plain
  for (let round = 0; round < ROUNDS && isCapped(ahead, pace, mostPerSecond); round++) {
    const { full, roots } = atFullRate(ahead, pace, untilMs, mostPerSecond)
    const next = Math.max(0, polls - full) / Math.max(roots, Number.MIN_VALUE)
    if (next <= pace) break
    pace = next
  }
  return pace
}

function isCapped(ahead: Outlook, pace: number, mostPerSecond: number): boolean {
  return pace * Math.sqrt(highestRate(ahead)) > mostPerSecond
}

/** Polls of the stretches that are polled at the full rate, and seconds × √rate of the others. */
function atFullRate(
  ahead: Outlook,
  pace: number,
  untilMs: number,
  mostPerSecond: number,
): { full: number; roots: number } {
  let [full, roots] = [0, 0]
  eachRate(ahead, untilMs, (seconds, rate) => {
    const root = Math.sqrt(rate)
    if (pace * root >= mostPerSecond) full += seconds * mostPerSecond
    else roots += seconds * root
  })
  return { full, roots }
}
