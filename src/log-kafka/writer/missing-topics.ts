/**
 * Makes topics again that a claim or the leader finds missing because they were deleted, or not restored with the state. Those
 * whose loss must stay visible are left missing: the log itself and the tables. A topic that is there is not looked at.
 */
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import { mayPass } from '../client/faults.ts'
import type { TopicStartup } from '../topics/topic-startup.ts'
import { COPIES, MOMENTARY, topicName } from '../topics/topics.ts'
import { type CodeTopicParts, createCodeTopics } from './code-topics.ts'

/** How often the leader looks for topics that no commit needs, ms. */
const MOMENTARY_CHECK_MS = 10_000

/** What the creation of missing topics needs. */
export interface MissingTopicParts extends Omit<CodeTopicParts, 'createTopics'> {
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

/**
 * Does that work. Meanwhile, where this process `leads`, looks for the topics that no commit needs and creates those that are
 * missing. No write shows that they are gone, and the order to step down itself comes over two of them.
 */
export async function withMomentaryTopics(
  parts: MissingTopicParts & { clock: Clock },
  leads: () => boolean,
  work: () => Promise<void>,
): Promise<void> {
  const ended = new AbortController()
  void keepMomentaryTopics(parts, leads, AbortSignal.any([parts.closed, ended.signal]))
  try {
    await work()
  } finally {
    // A look that is under way may last: the end of the work does not wait for it.
    ended.abort()
  }
}

async function keepMomentaryTopics(
  parts: MissingTopicParts & { clock: Clock },
  leads: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  const refused = new Set<string>()
  for (;;) {
    await sleep(parts.clock, MOMENTARY_CHECK_MS, signal)
    if (signal.aborted) return
    // The others leave the topics to the one that leads.
    if (!leads()) continue
    // Where Kafka is away, the next look tells.
    const missing = await parts.topics.missing(MOMENTARY).catch(() => [])
    for (const topic of missing.filter((name) => !refused.has(name))) {
      if (!(await createWithoutFailing(parts, topic))) refused.add(topic)
    }
  }
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

/** False where it cannot be had; true where it is there, and where Kafka is away. */
async function createWithoutFailing(parts: MissingTopicParts, topic: string): Promise<boolean> {
  try {
    await parts.topics.createAgain([topic])
    return true
  } catch (error) {
    if (parts.closed.aborted) return false
    parts.logger.warn('topic.create_refused', { topic: topicName(parts.prefix, topic), error })
    return mayPass(error)
  }
}
