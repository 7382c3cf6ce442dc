/**
 * Runs a leader that freezes between counting a unit and sending the request: argv is the brokers (comma list), the
 * prefix of the log and the address of the upstream. It stops itself in the throttle's wait. Once resumed, it prints
 * the result of the request on stdout: `{"outcome"}` or `{"failed"}`, with the code of the log.
 */
import { isBridgeError } from '../../../src/errors.ts'
import { createSendPermit } from '../../../src/ingest/poller/send-permit.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { openKafkaLog } from '../../../src/log-kafka/log.ts'
import { createUpstreamClient } from '../../../src/upstream/client.ts'
import { createTransport } from '../../../src/upstream/transport.ts'
import { claimed } from '../../log/samples.ts'
import { kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'

const [brokers = '', prefix = '', url = ''] = process.argv.slice(2)
const clock = systemClock
const log = openKafkaLog(kafkaLogOptions(brokers.split(','), prefix))
const writer = await claimed(log)
const transport = createTransport({ url, key: 'k', timeoutMs: 30_000, clock })
const client = createUpstreamClient({ transport, now: clock.now, nativeWord: 'native' })
const bucket = {
  take(nowMs: number) {
    process.kill(process.pid, 'SIGSTOP')
    return nowMs
  },
  drain: () => undefined,
  msUntilFull: () => 0,
}
const { signal } = new AbortController()
const permit = createSendPermit({ writer, bucket, clock, signal })
const said = await client.list({ pageSize: 1 }, 'poll', permit, signal).then(
  ({ kind }) => ({ outcome: kind }),
  (error: unknown) => ({ failed: isBridgeError(error, 'log_fenced') ? 'log_fenced' : String(error) }),
)
process.stdout.write(`${JSON.stringify(said)}\n`)
await client.close()
await log.close()
