/**
 * Probes whether this user may do what a poller does, without writing a record: brokers check ACLs before anything else,
 * so a request for a producer, member or topic that does not exist shows whether the right is missing.
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
  if (await probe(`writing with the transactional id ${id}`, partitions.probeWrite(id, []))) {
    for (const topic of await unwritable(partitions, id, present)) {
      await probe(`writing to ${topic}`, partitions.probeWrite(id, [topic]))
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

/** The first topics that may not be written to; one request suffices where all of them may. */
async function unwritable(
  partitions: PartitionClient,
  id: string,
  topics: readonly string[],
): Promise<string[]> {
  const isRefused = (asked: readonly string[]): Promise<boolean> =>
    partitions.probeWrite(id, asked).then(() => false, isForbidden)
  const found: string[] = []
  if (!(await isRefused(topics))) return found
  for (const topic of topics) {
    if (found.length < MOST_NAMES && (await isRefused([topic]))) found.push(topic)
  }
  return found
}

/** Ignores errors that are not about rights. */
function unlessForbidden(error: unknown): void {
  if (isForbidden(error)) throw error
}
