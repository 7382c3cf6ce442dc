/**
 * Makes topics again that a claim finds missing because they were deleted, or not restored with the state. Those whose loss
 * must stay visible are left missing: the log itself and the tables.
 */
import { replaceableTopics, topicName } from '../topics/topics.ts'
import { type CodeTopicParts, createCodeTopics } from './code-topics.ts'

/**
 * Creates what is missing of the topics that hold copies, rejected items or news of the moment, and of the topics of these
 * codes. Logs each one created. Resolves with the topics of codes that cannot be had.
 * @throws BridgeError `log_unavailable`, `kafka` when a topic that is not a code's cannot be had
 */
export async function createMissingTopics(
  parts: CodeTopicParts,
  codes: readonly string[],
): Promise<ReadonlySet<string>> {
  const createTopics: CodeTopicParts['createTopics'] = async (topics) => {
    const created = await parts.createTopics(topics)
    for (const topic of created) {
      parts.logger.warn('topic.created_again', { topic: topicName(parts.prefix, topic) })
    }
    return created
  }
  const [refused] = await Promise.all([
    createCodeTopics({ ...parts, createTopics }, codes),
    createTopics(replaceableTopics()),
  ])
  return new Set(refused)
}
