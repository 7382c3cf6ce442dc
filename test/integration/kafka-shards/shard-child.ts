/**
 * A process that owns lanes and writes to each as fast as they take it: argv is the brokers (comma list), the prefix and the
 * number of lanes. Says on stdout `{"lane", "row"}` for each row when it is durable.
 */
import { openKafkaLog } from '../../../src/log-kafka/log.ts'
import { kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'

const [brokers = '', prefix = '', count = ''] = process.argv.slice(2)
const log = openKafkaLog(kafkaLogOptions(brokers.split(','), prefix))
await log.lanes<number>('words', Number(count)).own(async (lane) => {
  for (let row = lane.rows.get('row') ?? 0; !lane.lost.aborted && !lane.leaving.aborted; ) {
    row += 1
    await lane.write([{ key: 'row', value: row }])
    process.stdout.write(`${JSON.stringify({ lane: lane.number, row })}\n`)
  }
}, new AbortController().signal)
