/**
 * Fault scripts for brokers that crash in the middle of a commit: restarted, down for long, or with the coordinator
 * moving to another.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { kafkaClient, leaderOf } from '../clients.ts'
import { replicated } from './replicas.ts'
import { type FaultScript, heldCommit, must } from './script.ts'

const AWAY_MS = 30_000
const TRANSACTIONS = '__transaction_state'
const GROUPS = '__consumer_offsets'

/** Every broker is killed and started again. */
const restart: FaultScript = async (world, chance) => {
  const { leader } = await world.sides()
  const held = chance.yes(0.7) ? await heldCommit(world, leader) : null
  await Promise.all(world.cluster.nodes.map((node) => node.kill()))
  held?.lift()
  await Promise.all(world.cluster.nodes.map((node) => node.start()))
  await world.flows()
}

const away: FaultScript = async (world, chance) => {
  const { leader } = await world.sides()
  const held = chance.yes(0.5) ? await heldCommit(world, leader) : null
  await Promise.all(world.cluster.nodes.map((node) => node.kill()))
  held?.lift()
  const { units } = world.sandbox.usage()
  await wait(AWAY_MS)
  // One unit may have been counted before the outage. References cost none, and may be requested at any time.
  must(world.sandbox.usage().units <= units + 1, 'units were spent while Kafka was away')
  await Promise.all(world.cluster.nodes.map((node) => node.start()))
  await world.flows()
}

/** The node that leads the only partition of that topic dies in the middle of a commit, and comes back later. */
function moveOf(topic: string): FaultScript {
  return async (world, chance) => {
    const { leader } = await world.sides()
    const coordinator = await leaderOf(kafkaClient(world.cluster.brokers), topic)
    const node = world.cluster.nodes.find(({ nodeId }) => nodeId === coordinator)
    if (node === undefined) throw new Error(`${topic} has no leader`)
    const held = chance.yes(0.7) ? await heldCommit(world, leader) : null
    await node.kill()
    held?.lift()
    await world.flows()
    await node.start()
    await replicated(world.cluster)
    await world.flows()
  }
}

/** Those for any number of nodes, by name. */
export const outages = {
  'broker-restart': restart,
  'broker-away': away,
} as const satisfies Record<string, FaultScript>

/** Those that need several nodes, by name. */
export const moves = {
  'transaction-coordinator-move': moveOf(TRANSACTIONS),
  'group-coordinator-move': moveOf(GROUPS),
} as const satisfies Record<string, FaultScript>
