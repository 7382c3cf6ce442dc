/** Tests the traces of a started bridge at a real receiver of OTLP: what comes, that nothing waits for it, and that off is off. */
import { expect, it } from 'vitest'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { TEST_TYPE } from '../../src/webhooks/send/system-event.ts'
import { bridgeEnv, startBridge, startCommand, temporaryDirectory } from '../support/bridge-process.ts'
import { eventually, getJson } from '../support/http/api-client.ts'
import { type OtlpReceiver, startOtlpReceiver } from '../support/otlp-receiver.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../support/webhooks/endpoint-api.ts'
import { type Received, startReceiver } from '../support/webhooks/webhook-receiver.ts'

const KEY = 'a key of the receiver'
const WAIT_MS = 60_000

/** A bridge that polls a sandbox with many items. */
async function startTraced(settings: Record<string, string>) {
  const directory = temporaryDirectory()
  const sandbox = await startSandbox({ scenario: 'demo', weeklyQuota: 1_000_000 }, { clock: systemClock })
  const env = bridgeEnv(sandbox, directory.path, {
    BRIDGE_UPSTREAM_PLAN: 'advanced',
    ...settings,
  })
  const bridge = await startBridge(env)
  return {
    bridge,
    sandbox,
    latest: async () =>
      (await getJson<{ log: { latest: number } }>(`${bridge.ready.http}/v1/status`)).log.latest,
    spansCounted: async (result: string) => {
      const text = await (await fetch(`${bridge.ready.ops}/metrics`)).text()
      return Number(new RegExp(`^bridge_trace_spans_total{result="${result}"} (\\d+)$`, 'm').exec(text)?.[1])
    },
    async [Symbol.asyncDispose]() {
      await bridge.stop()
      await sandbox.close()
      directory[Symbol.dispose]()
    },
  }
}

const soon = <T>(read: () => T | Promise<T>, isRight: (value: T) => boolean): Promise<T> =>
  eventually(async () => read(), isRight, WAIT_MS)

/** The spans of the first trace whose poll brought items that it published. */
function firstWithItems({ spans }: OtlpReceiver) {
  const commit = spans.find(({ name, attributes }) => name === 'commit' && Number(attributes.events) > 0)
  const ofTrace = spans.filter(({ traceId }) => traceId === commit?.traceId)
  return ofTrace.some(({ name }) => name === 'poll') ? ofTrace : []
}

it('the trace of a poll with items has its request and its commit; every span says which bridge it is of', async () => {
  await using receiver = await startOtlpReceiver()
  await using traced = await startTraced({
    OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.url}/`,
    OTEL_EXPORTER_OTLP_HEADERS: `api-key=${encodeURIComponent(KEY)}`,
    BRIDGE_INSTALLATION: 'london-1',
  })
  const spans = await soon(
    () => firstWithItems(receiver),
    (found) => found.length > 0,
  )
  const [poll] = spans.filter(({ name }) => name === 'poll')
  const children = spans.filter(({ name }) => name !== 'poll')
  expect(poll?.parentSpanId ?? '').toBe('')
  expect(children.map(({ parentSpanId }) => parentSpanId)).toEqual(children.map(() => poll?.spanId))
  expect(new Set(children.map(({ name }) => name))).toEqual(new Set(['request', 'commit']))
  const commit = children.find(({ name }) => name === 'commit')
  expect(commit?.attributes).toMatchObject({ events: poll?.attributes['items.new'] })
  expect(poll?.resource).toMatchObject({
    'service.name': 'disclosure-bridge',
    'service.namespace': 'london-1',
    'service.version': expect.any(String),
    'service.instance.id': expect.stringContaining(`:${traced.bridge.pid}`),
  })
  for (const { path, headers } of receiver.requests) {
    expect(path).toBe('/v1/traces')
    expect(headers['api-key']).toBe(KEY)
  }
  expect(
    await soon(
      () => traced.spansCounted('exported'),
      (count) => count > 0,
    ),
  ).toBeGreaterThan(0)

  // What waits at a stop is sent; no text says a secret or more of an item than its place.
  const before = receiver.spans.length
  expect(await traced.bridge.stop()).toBe(0)
  expect(receiver.spans.length).toBeGreaterThanOrEqual(before)
  const sent = receiver.requests.map(({ text }) => text).join()
  for (const secret of [KEY, traced.sandbox.key, 'headline', 'RNS']) expect(sent).not.toContain(secret)
  expect(traced.bridge.stderr()).not.toContain(KEY)
})

it('an attempt to deliver, its retry and the poll are one trace, which the receiver of the webhook can continue', async () => {
  await using receiver = await startOtlpReceiver()
  await using webhook = await startReceiver((response, _, count) =>
    response.writeHead(count === 1 ? 503 : 204).end(),
  )
  await using traced = await startTraced({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    ...LOCAL_RECEIVERS,
  })
  const { http } = traced.bridge.ready
  const { id } = await askEndpoints(http, 'POST', '', { url: webhook.url, maxConcurrency: 1 })
  await soon(
    () => webhook.received.length,
    (count) => count > 0,
  )
  const hasten = () => askEndpoints(http, 'POST', `/${id}/test`)
  const [first] = webhook.received
  const idOf = ({ headers }: Received) => headers['webhook-id']
  const [event = { id: '' }] = [JSON.parse(first?.body ?? 'null') as { id: string }]
  await hasten()
  const tries = await soon(
    () => webhook.received.filter((one) => first !== undefined && idOf(one) === idOf(first)),
    ({ length }) => length === 2,
  )
  const deliveries = await soon(
    () =>
      receiver.spans.filter(
        ({ name, attributes }) =>
          name === 'deliver' && attributes['webhook.id'] === idOf(tries[0] as Received),
      ),
    ({ length }) => length === 2,
  )
  expect(tries.map(({ headers }) => headers.traceparent)).toEqual(
    deliveries.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`),
  )
  expect(deliveries.map(({ attributes: { attempt, outcome } }) => [attempt, outcome])).toEqual([
    [1, 'server_error'],
    [2, 'ok'],
  ])
  expect(deliveries.map(({ status: { message } }) => message)).toEqual(['server_error', undefined])
  const poll = await soon(
    () => receiver.spans.find(({ spanId }) => spanId === deliveries[0]?.parentSpanId),
    (span) => span !== undefined,
  )
  expect([poll?.name, poll?.traceId]).toEqual(['poll', deliveries[1]?.traceId])
  expect(deliveries[1]?.parentSpanId).toBe(poll?.spanId)
  const inTrace = receiver.spans.filter(({ traceId }) => traceId === poll?.traceId)
  expect(inTrace.map(({ name }) => name)).toContain('commit')
  const journey = await getJson<{ traceId: string }>(
    `${http}/v1/disclosures/${encodeURIComponent(event.id)}/journey`,
  )
  expect(journey.traceId).toBe(poll?.traceId)
  // A test of an endpoint is of no poll: it keeps the trace that is made from its id.
  const test = webhook.received.find((one) => (JSON.parse(one.body) as { type: string }).type === TEST_TYPE)
  expect(test?.headers.traceparent).toContain(test?.headers['webhook-id']?.slice('msg_'.length))
})

it('of polls that are not sampled nothing is sent, kept or continued', async () => {
  await using receiver = await startOtlpReceiver()
  await using webhook = await startReceiver()
  await using traced = await startTraced({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_TRACES_SAMPLER_ARG: '0',
    ...LOCAL_RECEIVERS,
  })
  const { http } = traced.bridge.ready
  await askEndpoints(http, 'POST', '', { url: webhook.url })
  await soon(
    () => webhook.received.length,
    (count) => count > 0,
  )
  for (const { headers } of webhook.received)
    expect(headers.traceparent).toContain(headers['webhook-id']?.slice('msg_'.length))
  expect(await getJson(`${http}/v1/disclosures/1/journey`)).not.toHaveProperty('traceId')
  expect(await traced.bridge.stop()).toBe(0)
  expect(receiver.connections()).toBe(0)
})

it('without an endpoint no connection is made and nothing of OpenTelemetry is loaded', async () => {
  await using receiver = await startOtlpReceiver()
  using directory = temporaryDirectory()
  const loads = (env: Record<string, string>) => loadedBy(directory.path, env)
  expect(await loads({ OTEL_SERVICE_NAME: 'bridge', OTEL_TRACES_SAMPLER_ARG: '1' })).toBe(0)
  expect(await loads({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })).toBeGreaterThan(10)
})

/** Modules of OpenTelemetry that a bridge has loaded when it has started and is stopped; prom-client loads its types and API. */
async function loadedBy(dataDir: string, settings: Record<string, string>): Promise<number> {
  const watch = `
    import { registerHooks } from 'node:module'
    let count = 0
    registerHooks({ load(url, context, next) { if (/@opentelemetry.(?!api.)/.test(url)) count += 1; return next(url, context) } })
    process.on('exit', () => process.stderr.write('loaded=' + count))`
  const nowhere = { url: 'http://127.0.0.1:9/v2', key: 'none' }
  const bridge = startCommand(
    ['run'],
    bridgeEnv(nowhere, dataDir, {
      NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(watch)}"`,
      ...settings,
    }),
  )
  await soon(bridge.stdout, (text) => text.includes('"ready":true'))
  expect(await bridge.stop()).toBe(0)
  return Number(/loaded=(\d+)/.exec(bridge.stderr())?.[1])
}

it.each([
  ['hangs', (): void => undefined],
  [
    'refuses',
    (response: { writeHead(status: number): { end(): void } }): void => response.writeHead(403).end(),
  ],
])(
  'a receiver that %s delays no event; failed spans are counted, and it is logged once',
  async (_how, answer) => {
    await using receiver = await startOtlpReceiver(answer)
    await using traced = await startTraced({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
    await soon(
      () => traced.spansCounted('failed'),
      (count) => count > 0,
    )
    const latest = await traced.latest()
    await soon(traced.latest, (now) => now > latest)
    await soon(
      () => receiver.requests.length,
      (count) => count > 1,
    )
    expect(await traced.spansCounted('exported')).toBe(0)
    const lines = traced.bridge.stderr().split('\n')
    expect(lines.filter((line) => line.includes('"traces.export_failed"'))).toHaveLength(1)
    const stoppedMs = systemClock.now()
    expect(await traced.bridge.stop()).toBe(0)
    expect(systemClock.now() - stoppedMs).toBeLessThan(20_000)
  },
)
