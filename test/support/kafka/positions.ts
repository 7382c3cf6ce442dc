/** Commits positions of consumer groups without a consumer, which takes milliseconds where joining a group takes seconds. */
import { connect } from 'node:net'
import Cluster from 'kafkajs/src/cluster/index.js'
import { kafkaClient } from './clients.ts'

/** What kafkajs's broker has for it; no member of the group, so no generation. */
interface CommittingBroker {
  offsetCommit(commit: {
    groupId: string
    groupGenerationId: number
    memberId: string
    retentionTime: number
    topics: { topic: string; partitions: { partition: number; offset: string }[] }[]
  }): Promise<unknown>
}

/** Commits offsets of partition 0 of each topic, for each of the groups. */
export async function commitPositions(
  brokers: readonly string[],
  groups: Readonly<Record<string, Readonly<Record<string, number>>>>,
): Promise<void> {
  const logger = kafkaClient(brokers).logger()
  const cluster = new Cluster({
    brokers: [...brokers],
    logger,
    socketFactory: ({ host, port, onConnect }) => connect({ host, port }, onConnect),
    retry: { retries: 10, initialRetryTime: 50 },
  })
  await cluster.connect()
  try {
    await cluster.refreshMetadata()
    for (const [groupId, positions] of Object.entries(groups)) {
      await onceLoaded(async () => {
        const coordinator = await cluster.findGroupCoordinator({ groupId, coordinatorType: 0 })
        await (coordinator as unknown as CommittingBroker).offsetCommit({
          groupId,
          groupGenerationId: -1,
          memberId: '',
          retentionTime: -1,
          topics: Object.entries(positions).map(([topic, offset]) => ({
            topic,
            partitions: [{ partition: 0, offset: `${offset}` }],
          })),
        })
      })
    }
  } finally {
    await cluster.disconnect()
  }
}

/** What the coordinators of a new broker answer for a moment. */
const LOADING = ['GROUP_LOAD_IN_PROGRESS', 'NOT_COORDINATOR_FOR_GROUP', 'GROUP_COORDINATOR_NOT_AVAILABLE']

/** Repeats the work until the coordinator has loaded its groups. */
async function onceLoaded(work: () => Promise<unknown>): Promise<void> {
  for (let left = 50; ; left -= 1) {
    try {
      await work()
      return
    } catch (error) {
      if (left === 0 || !LOADING.includes((error as { type?: string }).type ?? '')) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}
