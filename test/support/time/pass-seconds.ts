/** Advances a manual clock under an asynchronous loop, whose next timer begins after the last one has fired. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ManualClock } from './manual-clock.ts'

/** Moves on second by second, so that each wait of the loop ends at its own moment. */
export async function passSeconds(clock: ManualClock, seconds: number): Promise<void> {
  await nextTurn()
  for (let second = 0; second < seconds; second++) {
    clock.advance(1_000)
    await nextTurn()
  }
}
