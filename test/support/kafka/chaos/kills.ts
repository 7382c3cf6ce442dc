/** Fault scripts that kill -9 a bridge at each step of a claim or a commit of events, and anywhere else. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Order } from '../bridge-child.ts'
import { type FaultScript, heldCommit, nowMs } from './script.ts'

/** Longest time to a kill at any moment, ms: a few polls. */
const LONGEST_LIFE_MS = 3_000

/** The leader crashes at that hook in a commit of events. */
function killInCommit(at: Order['at']): FaultScript {
  return async (world, chance) => {
    const { leader, standby } = await world.sides()
    const sinceMs = nowMs()
    await leader.order({ at, call: chance.between(1, 3), topic: world.topic('all'), signal: 'SIGKILL' })
    await leader.obeyed()
    await leader.bridge().ended
    const isBackAtOnce = chance.yes(0.5)
    if (isBackAtOnce) await leader.start()
    await world.claims(standby, sinceMs)
    if (!isBackAtOnce) await leader.start()
    await world.flows()
  }
}

/** The leader stops or crashes, and its successor crashes at that hook in its claim. */
function killInClaim(at: Order['at']): FaultScript {
  return async (world, chance) => {
    const { leader, standby } = await world.sides()
    await standby.order({ at, call: 1, topic: null, signal: 'SIGKILL' })
    await leader.stop(chance.pick(['SIGTERM', 'SIGTERM', 'SIGKILL']))
    await standby.obeyed()
    await standby.bridge().ended
    const [first, second] = chance.yes(0.5) ? [leader, standby] : [standby, leader]
    await first.start()
    await second.start()
    await world.flows()
  }
}

/** The leader crashes while the end of its commit is in flight, which arrives in the middle of a successor's commit. */
const killWithCommitUnderWay: FaultScript = async (world, chance) => {
  const { leader, standby } = await world.sides()
  const sinceMs = nowMs()
  const late = await heldCommit(world, leader)
  late.lift()
  await leader.stop('SIGKILL')
  await world.claims(standby, sinceMs)
  const open = await heldCommit(world, standby)
  late.release()
  open.lift()
  if (chance.yes(0.5)) open.release()
  else standby.way.cut()
  await leader.start()
  await world.flows()
  open.release()
}

const killAnyMoment: FaultScript = async (world, chance) => {
  const { leader, standby } = await world.sides()
  const sinceMs = nowMs()
  await wait(chance.between(0, LONGEST_LIFE_MS))
  await leader.stop('SIGKILL')
  await world.claims(standby, sinceMs)
  await leader.start()
  await world.flows()
}

/** All of them, by name. */
export const kills = {
  'kill-after-send': killInCommit('afterSend'),
  'kill-before-commit': killInCommit('beforeCommit'),
  'kill-after-commit': killInCommit('afterCommit'),
  'kill-after-fence': killInClaim('afterFence'),
  'kill-after-nonce': killInClaim('afterFencingToken'),
  'kill-commit-under-way': killWithCommitUnderWay,
  'kill-any-moment': killAnyMoment,
} as const satisfies Record<string, FaultScript>
