/**
 * Creates the topics of category codes that come while the bridge runs, or that a claim finds missing. No event waits for
 * such a topic: while it cannot be had, its events go to the shared topic of their kind.
 */
import { isBridgeError } from '../../errors.ts'
import type { Logger } from '../../obs/logger.ts'
import { isRefusedTopic } from '../client/faults.ts'
import { type TopicChoice, topicName } from '../topics/topics.ts'

/** What the creation of these topics needs. */
export interface CodeTopicParts {
  prefix: string
  logger: Logger
  /** Creates missing topics, by the part of their names after the prefix. Throws `kafka` where one is unusable. */
  createTopics(topics: readonly string[]): Promise<void>
}

/** The topics that codes have by these choices. */
export function learntTopics(choices: ReadonlyMap<string, TopicChoice>): string[] {
  return [...choices].filter(([, { own }]) => own).map(([topic]) => topic)
}

/**
 * Creates missing topics; resolves with those that cannot be had, because brokers refuse them or they exist with several
 * partitions. Each of these is logged.
 */
export async function createCodeTopics(parts: CodeTopicParts, topics: readonly string[]): Promise<string[]> {
  if (topics.length === 0) return []
  try {
    await parts.createTopics(topics)
    return []
  } catch (error) {
    if (!isRefusedTopic(error) && !isBridgeError(error, 'kafka')) throw error
    const [topic = ''] = topics
    if (topics.length === 1) {
      parts.logger.warn('topic.create_refused', { topic: topicName(parts.prefix, topic), error })
      return [topic]
    }
    // One refused topic must not prevent the others, and of a hundred only a few are tried alone.
    const half = Math.ceil(topics.length / 2)
    const refused = await createCodeTopics(parts, topics.slice(0, half))
    return [...refused, ...(await createCodeTopics(parts, topics.slice(half)))]
  }
}
