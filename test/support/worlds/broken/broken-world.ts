/**
 * Plays worlds whose upstream, clocks or quota break assumptions, one by one and in pairs, and checks that nothing is lost,
 * doubled or held up.
 */
import { seededChance } from '../../../../src/core/chance.ts'
import { type PlanName, plans } from '../../../../src/core/plans.ts'
import { World, type WorldOptions } from '../ingest-world.ts'
import {
  type Assumption,
  answerAssumptions,
  assumptions,
  breakAssumption,
  type Draft,
  END_MS,
  START_MS,
  usualItems,
} from './assumptions.ts'
import { FreeUpstream } from './free-upstream.ts'
import { type Liveness, livenessOf } from './liveness.ts'
import { type ContentVerdict, contentVerdict } from './verdict.ts'

/** Identifies a world. */
export interface BrokenCase {
  plan: PlanName
  broken: readonly Assumption[]
  seed: number
}

/** What became of it; a sentence for each broken promise. */
export interface BrokenVerdict extends ContentVerdict, Omit<Liveness, 'broken'> {
  polls: number
}

/** Every assumption alone, and each with one other that the seed draws. */
export function brokenCases(plan: PlanName, seed: number): BrokenCase[] {
  const chance = seededChance(seed * 31 + plan.length)
  const casesOf = (names: readonly Assumption[], others: readonly Assumption[]): BrokenCase[] => {
    const alone = names.map((one) => ({ plan, broken: [one], seed }))
    const pairs = names.map((one) => {
      const other = chance.pick(others.filter((name) => name !== one))
      return { plan, broken: [one, other], seed }
    })
    return [...alone, ...pairs]
  }
  return [
    ...casesOf(assumptions, assumptions),
    ...casesOf(answerAssumptions, [...assumptions, ...answerAssumptions]),
  ]
}

/**
 * Plays and checks one world; without a broken assumption it is an honest one. `look` gets the
 * finished world, `onLog` what it does to its log.
 */
export function playBroken(
  { plan, broken, seed }: BrokenCase,
  look: (world: World) => void = () => {},
  onLog: NonNullable<WorldOptions['onLog']> = () => {},
): BrokenVerdict {
  const chance = seededChance(seed)
  const draft: Draft = {
    chance,
    plan: plans[plan],
    items: usualItems(),
    rules: {},
    options: {},
    jumps: [],
    killsMs: [],
  }
  for (const name of broken) breakAssumption(name, draft)
  const upstream = new FreeUpstream(draft.items, draft.rules, chance)
  const { fails } = draft.options
  const world: World = new World({
    ...plans[plan],
    seed,
    startMs: START_MS,
    items: [],
    onLog,
    ...draft.options,
    fails: (query, requests, nowMs) => fails?.(query, requests, nowMs) ?? upstream.refusal(query, nowMs),
    strange: (_page, query) => upstream.page(query, world.nowMs),
  })
  const jumps = draft.jumps.map(({ atMs, clockOffMs }) => ({
    atMs,
    happen: () => void Object.assign(world.options, { clockOffMs }),
  }))
  const kills = draft.killsMs.map((atMs) => ({ atMs, happen: () => world.crash() }))
  for (const { atMs, happen } of [...jumps, ...kills].sort((one, other) => one.atMs - other.atMs)) {
    world.run(atMs)
    happen()
  }
  world.run(END_MS)
  look(world)
  const isDateWrong = draft.options.dateOffMs !== undefined
  const beganWithoutClock = isDateWrong && draft.options.clockOffMs !== undefined
  const hasRightClock = !beganWithoutClock && draft.jumps.length === 0
  const contents = contentVerdict(world, upstream, { beganWithoutClock, hasRightClock })
  const { broken: late, ...liveness } = livenessOf(world, upstream, {
    plan: plans[plan],
    jumpsMs: draft.jumps.map(({ atMs }) => atMs),
    clocksApartMs: clocksApartMs(draft),
    isWithoutClock: beganWithoutClock || (isDateWrong && draft.jumps.length > 0),
  })
  return { ...contents, ...liveness, broken: [...contents.broken, ...late], polls: world.polls.length }
}

function clocksApartMs({ options, jumps }: Draft): number {
  // Without a `Date` only new items tell whether our clock is right.
  if (options.dateOffMs === null) return Number.POSITIVE_INFINITY
  const clocks = [options.clockOffMs, options.dateOffMs, ...jumps.map(({ clockOffMs }) => clockOffMs)]
  const offs = clocks.map((off) => Math.abs((typeof off === 'function' ? off(END_MS) : off) ?? 0))
  return Math.max(...offs)
}
