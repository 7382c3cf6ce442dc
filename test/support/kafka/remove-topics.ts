/** Deletes topics while a bridge may use them. */
import { kafkaSessions } from '../../../src/log-kafka/client/client.ts'
import type { KafkaLogOptions } from '../../../src/log-kafka/log.ts'
import { eventually } from '../http/api-client.ts'
import { withAdmin } from './clients.ts'

const [yes, no] = [() => true, () => false]

/** Deletes these topics; resolves when neither the metadata of the cluster name them nor their broker answers for them. */
export async function removeTopics(
  { connection, logger }: Pick<KafkaLogOptions, 'connection' | 'logger'>,
  topics: readonly string[],
): Promise<void> {
  const { kafka, partitions, end } = kafkaSessions(connection, logger)()
  const areServed = () => Promise.all(topics.map((topic) => partitions.offsets(topic).then(yes, no)))
  await areServed()
  await withAdmin(kafka, async (admin) => {
    await admin.deleteTopics({ topics: [...topics] })
    const present = () => admin.listTopics()
    await eventually(present, (found) => topics.every((topic) => !found.includes(topic)))
  })
  // A broker may go on to answer for a topic that its metadata do not name any more.
  await eventually(areServed, (served) => !served.includes(true))
  end()
}
