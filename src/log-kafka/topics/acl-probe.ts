/**
 * What this user may do as the poller, found out without writing a record. Brokers look at rights first: a transaction
 * of a producer that does not exist, a beat of a member that does not exist and a topic that is only to be checked are
 * refused for want of a right, or else for what they are. Owns these questions. Refuses to judge the answers.
 */
import type { Admin } from 'kafkajs'
import { isForbidden, unavailable } from '../client/faults.ts'
import type { RightsClient } from '../client/kafkajs-internals.ts'
import { codeTopic, topicName } from './topics.ts'

/** What was refused, in sentences. */
export interface WriteRights {
  /** Without these no poller works here. */
  refused: readonly string[]
  /** Why topics may not be made; null where they may. */
  creation: string | null
}

/** Topics named one by one where some are refused. */
const MOST_NAMES = 3

/** Asks with the topics that are there (full names) and those of a poller's codes to come. */
export async function askWriteRights(
  { partitions, admin }: { partitions: RightsClient; admin: Admin },
  prefix: string,
  present: readonly string[],
): Promise<WriteRights> {
  const refused: string[] = []
  const told = async (doing: string, question: Promise<unknown>): Promise<string | null> =>
    question.then(
      () => null,
      (error: unknown) => unavailable(doing, error).message,
    )
  const keep = (refusal: string | null): void => {
    if (refusal !== null) refused.push(refusal)
  }
  const id = `${prefix}.writer`
  const writing = await told(`writing with the transactional id ${id}`, partitions.askToWrite(id, []))
  keep(writing)
  if (writing === null) {
    for (const topic of await unwritable(partitions, id, present)) {
      keep(await told(`writing to ${topic}`, partitions.askToWrite(id, [topic])))
    }
  }
  const group = `${prefix}.leader`
  keep(await told(`standing for leader in the group ${group}`, partitions.askToJoin(group)))
  const topic = topicName(prefix, codeTopic('fca', 'DOCTOR'))
  const check = admin.createTopics({ topics: [{ topic }], validateOnly: true, waitForLeaders: false })
  return { refused, creation: await told('making topics', check.catch(unlessForbidden)) }
}

/** Some of those that may not be written to; none where one question for all of them is not refused. */
async function unwritable(
  partitions: RightsClient,
  id: string,
  topics: readonly string[],
): Promise<string[]> {
  const isRefused = (asked: readonly string[]): Promise<boolean> =>
    partitions.askToWrite(id, asked).then(() => false, isForbidden)
  const found: string[] = []
  if (!(await isRefused(topics))) return found
  for (const topic of topics) {
    if (found.length < MOST_NAMES && (await isRefused([topic]))) found.push(topic)
  }
  return found
}

/** A topic that cannot be made for another reason says nothing of rights. */
function unlessForbidden(error: unknown): void {
  if (isForbidden(error)) throw error
}
