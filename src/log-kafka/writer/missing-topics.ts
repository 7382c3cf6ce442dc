/**
 * Makes topics again that a claim finds missing because they were deleted, or not restored with the state. Those whose loss
 * must stay visible are left missing: the log itself and the tables. A topic that is there is not looked at.
 */
import type { TopicStartup } from '../topics/topic-startup.ts'
import { COPIES, MOMENTARY, topicName } from '../topics/topics.ts'
import { type CodeTopicParts, createCodeTopics } from './code-topics.ts'

/** What the creation of missing topics needs. */
export interface MissingTopicParts extends CodeTopicParts {
  topics: Pick<TopicStartup, 'createAgain' | 'missing'>
  closed: AbortSignal
}

/**
 * Creates what is missing of the topics that commits write to, those of these codes included. Resolves with the topics of
 * codes that cannot be had. Begins to create the topics that no commit needs, and does not wait for them.
 * @throws BridgeError `log_unavailable`, `kafka` when a topic that is missing and not a code's cannot be had
 */
export async function createMissingTopics(
  parts: MissingTopicParts,
  codes: readonly string[],
): Promise<ReadonlySet<string>> {
  const createTopics: CodeTopicParts['createTopics'] = async (topics) => {
    await parts.topics.createAgain(topics)
  }
  const [refused] = await Promise.all([
    createCodeTopics({ ...parts, createTopics }, codes),
    createMissingOthers(parts),
  ])
  return new Set(refused)
}

async function createMissingOthers(parts: MissingTopicParts): Promise<void> {
  const missing = await parts.topics.missing([...COPIES, ...MOMENTARY])
  for (const topic of MOMENTARY) if (missing.includes(topic)) void createWithoutFailing(parts, topic)
  const needed = COPIES.filter((topic) => missing.includes(topic))
  if (needed.length === 0) return
  try {
    await parts.topics.createAgain(needed)
  } catch (error) {
    // Another program may have made them in the meantime, with several partitions.
    if ((await parts.topics.missing(needed)).length > 0) throw error
  }
}

async function createWithoutFailing(parts: MissingTopicParts, topic: string): Promise<void> {
  try {
    await parts.topics.createAgain([topic])
  } catch (error) {
    if (parts.closed.aborted) return
    parts.logger.warn('topic.create_refused', { topic: topicName(parts.prefix, topic), error })
  }
}
