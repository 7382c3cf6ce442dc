/**
 * Probes whether the Kafka user has the rights that a poller needs, without writing a record. Brokers check ACLs before
 * anything else, so a request for a producer, member or topic that does not exist shows whether the right is missing.
 */
import type { Admin } from 'kafkajs'
import { isForbidden, unavailable } from '../client/faults.ts'
import type { PartitionClient } from '../client/kafkajs-internals.ts'
import { codeTopic, topicName } from './topics.ts'

/** What was refused, in sentences. */
export interface AclFindings {
  /** Rights without which no poller works. */
  refused: readonly string[]
  /** Why topics may not be created; null where they may. */
  creation: string | null
}

/** Most topics that are named where some are refused. */
const MOST_NAMES = 3

/** Probes with the existing topics (full names) and the topic of a code that does not exist yet. */
export async function probeAcls(
  { partitions, admin }: { partitions: PartitionClient; admin: Admin },
  prefix: string,
  present: readonly string[],
): Promise<AclFindings> {
  const refused: string[] = []
  const probe = async (doing: string, request: Promise<unknown>): Promise<boolean> => {
    const refusal = await refusalOf(doing, request)
    if (refusal !== null) refused.push(refusal)
    return refusal === null
  }
  const id = `${prefix}.writer`
  const writes = (topics: readonly string[]): Promise<void> =>
    partitions.probeWrite(id, topics).catch(unlessForbidden)
  // One request suffices where all topics may be written to.
  if (
    (await probe(`writing with the transactional id ${id}`, partitions.probeWrite(id, []))) &&
    (await refusalOf('writing', writes(present))) !== null
  ) {
    for (const topic of present) {
      if (refused.length < MOST_NAMES) await probe(`writing to ${topic}`, writes([topic]))
    }
  }
  const group = `${prefix}.leader`
  await probe(`standing for leader in the group ${group}`, partitions.probeJoin(group))
  const topic = topicName(prefix, codeTopic('fca', 'DOCTOR'))
  const check = admin.createTopics({ topics: [{ topic }], validateOnly: true, waitForLeaders: false })
  return { refused, creation: await refusalOf('making topics', check.catch(unlessForbidden)) }
}

async function refusalOf(doing: string, request: Promise<unknown>): Promise<string | null> {
  return request.then(
    () => null,
    (error: unknown) => unavailable(doing, error).message,
  )
}

/** Ignores errors that are not about rights. */
function unlessForbidden(error: unknown): void {
  if (isForbidden(error)) throw error
}
