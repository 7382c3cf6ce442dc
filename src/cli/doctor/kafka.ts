/**
 * What the doctor says of Kafka. Owns the advice. Refuses to make or change a topic.
 */
import type { KafkaSettings } from '../../settings/kafka.ts'
import { type Finding, fine } from './finding.ts'

/** Which log the settings choose. */
export function checkKafka(kafka: KafkaSettings | null): Finding {
  if (kafka === null) return fine('kafka', 'no brokers set: the embedded log is used')
  return fine('kafka', `the log is on ${kafka.brokers.join(', ')}, in topics ${kafka.topics.prefix}.*`)
}
