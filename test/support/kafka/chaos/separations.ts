/**
 * Fault scripts for a leader that is frozen, disconnected, expelled or without responses but still believes to lead,
 * and for a standby that reads late.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Order } from '../bridge-child.ts'
import { apiKeys } from '../proxy/frames.ts'
import { asksAgain, type FaultScript, heldCommit, must, nowMs, steppedDown } from './script.ts'

/** More than one batch of 512 KiB: items of some 1.5 KB. */
const SEVERAL_BATCHES = 700
/** How long the standby's reads of the state are delayed, ms; a claim waits ten seconds for them. */
const LATE_MS = { least: 200, most: 2_000 }

/** The leader is frozen beyond its session, in the middle of a commit or between two steps, and resumed when another leads. */
const frozenLeader: FaultScript = async (world, chance) => {
  const { leader, standby } = await world.sides()
  const events = world.topic('all')
  const order = chance.pick<Pick<Order, 'at' | 'topic'>>([
    { at: 'beforeCommit', topic: events },
    { at: 'beforeCommit', topic: events },
    { at: 'afterSend', topic: events },
    { at: 'afterCommit', topic: events },
    { at: 'afterCommit', topic: null },
  ])
  const lost = leader.said('leader.lost')
  await leader.order({ ...order, call: chance.between(1, 3), signal: 'SIGSTOP' })
  await leader.obeyed()
  await world.claims(standby, nowMs())
  await asksAgain(standby, 2)
  const asked = leader.front.arrivals().length
  leader.bridge().child.kill('SIGCONT')
  await steppedDown(leader, lost)
  await world.flows()
  // Once the unit of a request is counted, the request may be sent.
  const mayAsk = order.topic === null ? 1 : 0
  must(leader.front.arrivals().length <= asked + mayAsk, 'a leader that was frozen sent a request')
}

/** The end of a commit is held back until the same leader is in the middle of a later one. */
const lateCommit: FaultScript = async (world, chance) => {
  const { leader, standby } = await world.sides()
  const late = await heldCommit(world, leader)
  late.lift()
  world.burst.add(SEVERAL_BATCHES)
  const cutMs = nowMs()
  await leader.order({ at: 'afterSend', call: 1, topic: world.topic('all'), signal: 'SIGSTOP' })
  leader.way.cut()
  await world.claims(leader, cutMs)
  await leader.obeyed()
  must(late.release() === 1, 'the late end of the commit did not reach the broker')
  if (chance.yes(0.5)) {
    leader.bridge().child.kill('SIGCONT')
  } else {
    const killedMs = nowMs()
    await leader.stop('SIGKILL')
    await world.claims(standby, killedMs)
    await leader.start()
  }
  await world.flows()
}

/** A commit succeeds but its response is lost. */
const lostAnswer: FaultScript = async (world) => {
  const { leader } = await world.sides()
  const drop = leader.way.dropReplies(apiKeys.endTxn, { touching: world.topic('all') })
  await drop.caught()
  drop.lift()
  const cutMs = nowMs()
  leader.way.cut()
  await world.claims(leader, cutMs)
  await world.flows()
}

/** Only the leader is disconnected from Kafka, in the middle of a commit or anywhere. */
const partition: FaultScript = async (world, chance) => {
  const { leader, standby } = await world.sides()
  const lost = leader.said('leader.lost')
  const held = chance.yes(0.5) ? await heldCommit(world, leader) : null
  const isSilent = chance.yes(0.5)
  const fault = isSilent ? leader.way.blackHole() : leader.way.refuse()
  held?.release()
  if (!isSilent) leader.way.cut()
  const cutMs = nowMs()
  const asked = leader.front.arrivals().length
  await world.claims(standby, cutMs)
  await asksAgain(standby, 2)
  // One unit may have been counted before.
  must(leader.front.arrivals().length <= asked + 1, 'a leader without Kafka sent requests')
  fault.lift()
  await steppedDown(leader, lost)
  await world.flows()
}

/** The group elects another leader while the old one waits for a response: for a while two believe to lead. */
const forgottenLeader: FaultScript = async (world) => {
  const { leader, standby } = await world.sides()
  const lost = leader.said('leader.lost')
  const joining = leader.way.hold(apiKeys.joinGroup)
  const sinceMs = nowMs()
  await standby.stop()
  await standby.start()
  await joining.caught()
  await world.claims(standby, sinceMs)
  await asksAgain(standby, 3)
  const fencedMs = standby.fences().at(-1) ?? sinceMs
  // A busy broker may cost the leader a commit before it is fenced: it claims again then, as it should.
  const again = leader.fences().filter((atMs) => atMs > fencedMs)
  must(again.length === 0, `a leader that was fenced at ${fencedMs} claimed again at ${again.join(', ')}`)
  joining.release()
  await steppedDown(leader, lost)
  await world.flows()
}

/** A standby is elected before it has read its predecessor's writes. */
const slowStandby: FaultScript = async (world, chance) => {
  const { leader, standby } = await world.sides()
  const reading = standby.way.hold(apiKeys.fetch, { touching: world.topic('internal.state') })
  await reading.caught()
  await world.flows()
  const sinceMs = nowMs()
  await leader.stop('SIGTERM')
  await world.claims(standby, sinceMs)
  await wait(chance.between(LATE_MS.least, LATE_MS.most))
  reading.release()
  await leader.start()
  await world.flows()
}

/** All of them, by name. */
export const separations = {
  'frozen-leader': frozenLeader,
  'late-commit': lateCommit,
  'lost-answer': lostAnswer,
  partition,
  'forgotten-leader': forgottenLeader,
  'slow-standby': slowStandby,
} as const satisfies Record<string, FaultScript>
