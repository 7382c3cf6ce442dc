/** Defines a fault script, and the waits that several scripts share. */
import type { SeededChance } from '../../../../src/core/chance.ts'
import { systemClock } from '../../../../src/lifecycle/clock.ts'
import { eventually } from '../../http/api-client.ts'
import { apiKeys } from '../proxy/frames.ts'
import type { Hold } from '../proxy/proxy-rules.ts'
import type { Place } from './place.ts'
import type { ChaosWorld } from './world.ts'

/**
 * Plays one fault while the burst runs, and resolves when both bridges run again and events flow. What it chooses comes
 * from `chance` alone.
 * @throws Error when a promise is broken that only this moment shows, or something does not happen in time
 */
export type FaultScript = (world: ChaosWorld, chance: SeededChance) => Promise<void>

/** Now, as the places tell the time; ms since 1970. */
export const nowMs = systemClock.now

/** @throws Error with the sentence unless it holds */
export function must(holds: boolean, sentence: string): void {
  if (!holds) throw new Error(sentence)
}

/** Resolves when the upstream has received that many more requests from that place. */
export async function asksAgain({ front }: Place, count: number): Promise<void> {
  const before = front.arrivals().length
  await eventually(front.arrivals, ({ length }) => length >= before + count, 60_000)
}

/** Resolves when that place has logged the loss of leadership more often than `before`. */
export async function steppedDown(place: Place, before: number): Promise<void> {
  await eventually(
    () => place.said('leader.lost'),
    (count) => count > before,
    60_000,
  )
}

/** Resolves when a commit of events by that place is written and its end is held back. */
export async function heldCommit(world: ChaosWorld, place: Place): Promise<Hold> {
  const hold = place.way.hold(apiKeys.endTxn, { touching: world.topic('all') })
  await hold.caught()
  return hold
}
