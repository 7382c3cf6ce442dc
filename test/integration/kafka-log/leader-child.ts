/**
 * Runs a process that campaigns for leadership for ever: argv is the brokers (comma list), the group and the topic.
 * Prints `{"won"}` and `{"lost"}` on stdout, ms since 1970 each.
 */
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { kafkaSessions } from '../../../src/log-kafka/client/client.ts'
import { groupElections } from '../../../src/log-kafka/group/leader.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

const [brokers = '', groupId = '', topic = ''] = process.argv.slice(2)
const { logger } = keepingLogger()
const connection = { brokers: brokers.split(','), clientId: 'leader-child', tls: null, sasl: null }
const elections = groupElections({
  openSession: kafkaSessions(connection, logger),
  clock: systemClock,
  logger,
  groupId,
  topic,
})
for (;;) {
  const { lost } = await elections.campaign(new AbortController().signal)
  process.stdout.write(`${JSON.stringify({ won: Date.now() })}\n`)
  await new Promise<void>((resolve) => lost.addEventListener('abort', () => resolve()))
  process.stdout.write(`${JSON.stringify({ lost: Date.now() })}\n`)
}
