/** Tests that a trace goes on across nodes on Kafka: polled by one, delivered by another, and read from a topic by a consumer. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { eventually } from '../../support/http/api-client.ts'
import { kafkaClient, uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaNodesOfTest } from '../../support/kafka/kafka-nodes.ts'
import { readTopic } from '../../support/kafka/read-topic.ts'
import { startOtlpReceiver } from '../../support/otlp-receiver.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'

const brokers = await sharedBrokers()
const SOON_MS = 90_000

describe.skipIf(brokers === null)('traces of nodes on Kafka', () => {
  it('a poll of one node, the attempt of another and the header of the record are one trace', async () => {
    await using receiver = await startOtlpReceiver()
    await using webhook = await startReceiver()
    const sandbox = await startSandbox(
      { scenario: 'normal', plan: 'advanced', weeklyQuota: 1_000_000, seed: 3, backlog: 0, speed: 30 },
      { clock: systemClock },
    )
    onTestFinished(() => sandbox.close())
    const prefix = uniqueName('traces')
    const start = kafkaNodesOfTest('traces', brokers, sandbox, {
      BRIDGE_TOPIC_PREFIX: prefix,
      BRIDGE_BACKFILL: 'P0D',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      ...LOCAL_RECEIVERS,
    })
    const poller = await start('poller,api')
    const deliverer = await start('webhooks')
    await askEndpoints(poller.ready.http, 'POST', '', { url: webhook.url, filter: { types: ['published'] } })
    const [request] = await eventually(
      () => webhook.received,
      ({ length }) => length > 0,
      SOON_MS,
    )
    const traceparent = request?.headers.traceparent
    const deliver = await eventually(
      () => receiver.spans.find(({ traceId, spanId }) => traceparent === `00-${traceId}-${spanId}-01`),
      (span) => span !== undefined,
      SOON_MS,
    )
    const instance = (pid: number) => expect.stringMatching(new RegExp(`:${pid}$`))
    expect(deliver).toMatchObject({
      name: 'deliver',
      resource: { 'service.instance.id': instance(deliverer.pid), 'service.namespace': prefix },
    })
    const brought = await eventually(
      () => receiver.spans.find(({ spanId }) => spanId === deliver?.parentSpanId),
      (span) => span !== undefined,
      SOON_MS,
    )
    expect(['poll', 'scan']).toContain(brought?.name)
    expect(brought).toMatchObject({
      traceId: deliver?.traceId,
      resource: { 'service.instance.id': instance(poller.pid) },
    })

    const sequence = Number((JSON.parse(request?.body ?? 'null') as { sequence: string }).sequence)
    const kafka = kafkaClient(brokers ?? [])
    const records = await readTopic(kafka, `${prefix}.all`, sequence)
    const record = records.find(({ headers }) => Number(headers.ce_sequence) === sequence)
    expect(record?.headers.traceparent).toBe(`00-${brought?.traceId}-${brought?.spanId}-01`)
    const [topic = ''] = record?.headers.topics?.split(',') ?? []
    const [first] = await readTopic(kafka, `${prefix}.${topic}`, 1)
    expect(first?.headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    expect(first?.headers).not.toHaveProperty('journey')
  }, 240_000)
})
