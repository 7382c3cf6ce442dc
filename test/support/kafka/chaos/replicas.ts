/**
 * Fault scripts for three replicating brokers: restarted one after the other as for an upgrade, too few of them in sync for a
 * commit, and a broker that hangs without closing a connection.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { eventually } from '../../http/api-client.ts'
import { kafkaClient, leaderOf } from '../clients.ts'
import type { KafkaCluster, KafkaNode } from '../cluster.ts'
import { type FaultScript, heldCommit, must } from './script.ts'

/** Longer than a transaction may stay open and than a session of the group, ms. */
const OUT_OF_SYNC_MS = 15_000
/** Longer than a broker's session and than the bridge waits for a response, ms. */
const FROZEN_MS = { least: 4_000, most: 12_000 }
/** A broker that starts has to catch up with its replicas. */
const LONGEST_CATCH_UP_MS = 120_000

/** Every broker is stopped in turn and started again; most stop cleanly, as an upgrade stops them. */
const rollingRestart: FaultScript = async (world, chance) => {
  for (const node of world.cluster.nodes) {
    const { leader } = await world.sides()
    const held = chance.yes(0.3) ? await heldCommit(world, leader) : null
    await node.signal(chance.yes(0.8) ? 'SIGTERM' : 'SIGKILL')
    await node.ended()
    held?.lift()
    held?.release()
    if (chance.yes(0.5)) await world.flows()
    await node.start()
    await replicated(world.cluster)
    await world.flows()
  }
}

/** Two brokers go, so that one replica of three is left in sync: nothing may be committed, and so nothing be requested. */
const isrLoss: FaultScript = async (world, chance) => {
  await world.sides()
  const [first, second] = chance.yes(0.5) ? world.cluster.nodes : world.cluster.nodes.toReversed()
  if (first === undefined || second === undefined) throw new Error('it needs three brokers')
  await first.kill()
  await world.flows()
  // A clean stop takes this broker out of the in-sync replicas before it ends.
  await second.signal('SIGTERM')
  await second.ended()
  const { units } = world.sandbox.usage()
  await wait(OUT_OF_SYNC_MS)
  // One unit may have been counted before.
  must(world.sandbox.usage().units <= units + 1, 'units were spent while too few replicas were in sync')
  await Promise.all([first.start(), second.start()])
  await replicated(world.cluster)
  await world.flows()
}

/** The broker that leads the topic of all events hangs: connections to it stay open, and nothing answers. */
const frozenBroker: FaultScript = async (world, chance) => {
  const { leader } = await world.sides()
  const all = world.topic('all')
  const led = await leaderOf(kafkaClient(world.cluster.brokers), all)
  const node = world.cluster.nodes.find(({ nodeId }) => nodeId === led)
  if (node === undefined) throw new Error(`${all} has no leader`)
  const held = chance.yes(0.5) ? await heldCommit(world, leader) : null
  await node.signal('SIGSTOP')
  held?.lift()
  held?.release()
  try {
    await leadsNoLonger(world.cluster, node, all)
    await wait(chance.between(FROZEN_MS.least, FROZEN_MS.most))
    await world.flows()
  } finally {
    await node.signal('SIGCONT')
  }
  await replicated(world.cluster)
  await world.flows()
}

/** Resolves when another broker leads the topic. */
async function leadsNoLonger(cluster: KafkaCluster, frozen: KafkaNode, topic: string): Promise<void> {
  const others = cluster.nodes.filter((node) => node !== frozen).map(({ address }) => address)
  await eventually(
    () => leaderOf(kafkaClient(others), topic).catch(() => frozen.nodeId),
    (nodeId) => nodeId !== frozen.nodeId && nodeId >= 0,
    LONGEST_CATCH_UP_MS,
  )
}

/** Resolves when all replicas of all topics are in sync: the next broker may go. */
export async function replicated(cluster: KafkaCluster): Promise<void> {
  const look = async (): Promise<string[]> => {
    const admin = kafkaClient(cluster.brokers).admin()
    try {
      await admin.connect()
      const { topics } = await admin.fetchTopicMetadata()
      return topics
        .filter(({ partitions }) => partitions.some(({ isr, replicas }) => isr.length < replicas.length))
        .map(({ name }) => name)
    } catch (error) {
      // A topic without a leader, or a broker that is not ready yet.
      return [String(error)]
    } finally {
      await admin.disconnect()
    }
  }
  await eventually(look, (behind) => behind.length === 0, LONGEST_CATCH_UP_MS)
}

/** All of them, by name. */
export const replicaFaults = {
  'rolling-restart': rollingRestart,
  'isr-loss': isrLoss,
  'frozen-broker': frozenBroker,
} as const satisfies Record<string, FaultScript>
