/**
 * Runs a process that owns shards and writes to each without pause: argv is the brokers (comma list), the prefix and
 * the number of shards. Prints `{"shard", "row"}` on stdout for each row once it is durable.
 */
import { openKafkaLog } from '../../../src/log-kafka/log.ts'
import { kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'

const [brokers = '', prefix = '', count = ''] = process.argv.slice(2)
const log = openKafkaLog(kafkaLogOptions(brokers.split(','), prefix))
await log.shards<number>('words', Number(count)).own(async (shard) => {
  for (let row = shard.rows.get('row') ?? 0; !shard.lost.aborted && !shard.releasing.aborted; ) {
    row += 1
    await shard.write([{ key: 'row', value: row }])
    process.stdout.write(`${JSON.stringify({ shard: shard.number, row })}\n`)
  }
}, new AbortController().signal)
