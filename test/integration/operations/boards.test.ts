/** Asks one real Prometheus for every panel of every dashboard, while it scrapes running bridges on both logs. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { annotationQueries, type Panel } from '../../../deploy/monitoring/boards/board.ts'
import { boards } from '../../../deploy/monitoring/boards/boards.ts'
import { sleep, systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  type BridgeProcess,
  bridgeEnv,
  runToEnd,
  startBridge,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { bearer, eventually } from '../../support/http/api-client.ts'
import { uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { reportingQuota } from '../../support/monitoring/counting-upstream.ts'
import { type PrometheusProcess, startPrometheus } from '../../support/monitoring/prometheus-process.ts'
import { quickRules, threeTenths } from '../../support/monitoring/quick-rules.ts'
import { shippedRules } from '../../support/monitoring/shipped.ts'
import { createTestAuthority } from '../../support/test-certificates.ts'
import { hasTool } from '../../support/tools.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'

const brokers = await sharedBrokers()
const panels = boards.flatMap(({ uid, rows }) =>
  rows.flatMap((row) => row.panels.map((panel) => ({ ...panel, title: `${uid}: ${panel.title}` }))),
)
const DEMO = { scenario: 'demo', weeklyQuota: 1_000_000 } as const
const PLAN = { BRIDGE_UPSTREAM_PLAN: 'advanced' }

describe.skipIf(!hasTool('prometheus', 'prometheus'))('the dashboards', () => {
  it('every panel has data of a bridge on the embedded log, with streams open and a webhook failing', async () => {
    await using sandbox = await closing(startSandbox(DEMO, { clock: systemClock }))
    await using upstream = await reportingQuota(sandbox.url, DEMO.weeklyQuota)
    using plain = temporaryDirectory()
    using sealed = temporaryDirectory()
    using directory = temporaryDirectory()
    using backups = temporaryDirectory()
    const env = bridgeEnv({ url: upstream.url, key: sandbox.key }, plain.path, {
      ...PLAN,
      ...LOCAL_RECEIVERS,
      BRIDGE_INSTALLATION: 'plain',
    })
    await using bridge = await stopping(startBridge(env))
    const keyFile = join(sealed.path, 'upstream-key')
    writeFileSync(keyFile, 'the-first-key')
    await using secured = await stopping(startBridge(securedEnv(sealed.path, keyFile)))
    writeFileSync(keyFile, 'the-second-key')
    await using sound = await startReceiver()
    await using failing = await startReceiver((response) => response.writeHead(500).end())
    expect(await runToEnd(['backup', join(backups.path, 'one.db')], env)).toMatchObject({
      code: 0,
      stderr: '',
    })
    for (const { url } of [sound, failing]) await askEndpoints(bridge.ready.http, 'POST', '', { url })
    using _reading = readStream(bridge)
    using _asking = askAgainAndAgain(bridge)
    await using prometheus = await startPrometheus(directory.path, quickRules(shippedRules(), threeTenths), [
      opsOf(bridge),
      opsOf(secured),
    ])
    await expectData(
      prometheus,
      panels.filter(({ log }) => log !== 'kafka'),
    )
    for (const { name, expr } of annotationQueries()) await expectSample(prometheus, name, expr)
  })

  it.skipIf(brokers === null)('every panel about the log has data of a bridge on Kafka', async () => {
    await using sandbox = await closing(startSandbox(DEMO, { clock: systemClock }))
    using data = temporaryDirectory()
    using directory = temporaryDirectory()
    const kafka = {
      ...PLAN,
      BRIDGE_KAFKA_BROKERS: (brokers ?? []).join(','),
      BRIDGE_TOPIC_PREFIX: uniqueName('boards'),
    }
    await using bridge = await stopping(startBridge(bridgeEnv(sandbox, data.path, kafka)))
    await using prometheus = await startPrometheus(directory.path, quickRules(shippedRules(), threeTenths), [
      opsOf(bridge),
    ])
    const ofLog = boards.find(({ uid }) => uid === 'bridge-storage')?.rows ?? []
    await expectData(
      prometheus,
      ofLog
        .filter(({ title }) => title !== 'Certificates and keys')
        .flatMap((row) => row.panels)
        .filter(({ log }) => log !== 'embedded'),
    )
    // Nothing but lines of the log: kafkajs arms timers that Node warns of.
    expect(
      bridge
        .stderr()
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('{')),
    ).toEqual([])
  })
})

/** Waits until each query of each panel has a number. */
async function expectData(prometheus: PrometheusProcess, asked: readonly Panel[]): Promise<void> {
  expect(asked.length).toBeGreaterThan(5)
  for (const { title, queries } of asked) {
    for (const { expr } of queries) await expectSample(prometheus, title, expr)
  }
}

async function expectSample(prometheus: PrometheusProcess, title: string, expr: string): Promise<void> {
  const filled = expr
    .replaceAll('$installation', '.*')
    .replaceAll('$instance', '.*')
    .replaceAll('$__rate_interval', '30s')
  await eventually(
    () => prometheus.query(filled),
    (samples) => samples.some(({ value }) => !Number.isNaN(value)),
    60_000,
  ).catch((cause) => {
    throw new Error(`${title} has no data: ${filled}`, { cause })
  })
}

/** Of a bridge that serves TLS and has its key in a file, so that both panels have something to show. Its upstream does not answer. */
function securedEnv(dataDir: string, keyFile: string): Record<string, string> {
  const { key, cert } = createTestAuthority().issue(['localhost'])
  const paths = { cert: join(dataDir, 'cert.pem'), key: join(dataDir, 'key.pem') }
  writeFileSync(paths.cert, cert)
  writeFileSync(paths.key, key)
  const { BRIDGE_UPSTREAM_KEY: _, ...env } = bridgeEnv({ url: 'http://127.0.0.1:9/v2', key: '' }, dataDir, {
    BRIDGE_INSTALLATION: 'sealed',
    BRIDGE_UPSTREAM_KEY_FILE: keyFile,
    BRIDGE_HTTP_TLS_CERT_FILE: paths.cert,
    BRIDGE_HTTP_TLS_KEY_FILE: paths.key,
  })
  return env
}

/** Holds a stream of server-sent events open and reads it. */
function readStream({ ready }: BridgeProcess): Disposable {
  const stopping = new AbortController()
  const read = async (): Promise<void> => {
    const { body } = await fetch(`${ready.http}/v1/events`, { headers: bearer, signal: stopping.signal })
    for await (const _piece of body ?? []);
  }
  read().catch((error) => {
    if (!stopping.signal.aborted) throw error
  })
  return { [Symbol.dispose]: () => stopping.abort() }
}

/** Asks for the status twice a second: quantiles have data only while something happens. */
function askAgainAndAgain({ ready }: BridgeProcess): Disposable {
  const stopping = new AbortController()
  const { signal } = stopping
  const ask = async (): Promise<void> => {
    for (;;) {
      const response = await fetch(`${ready.http}/v1/status`, { headers: bearer, signal })
      await response.arrayBuffer()
      await sleep(systemClock, 500, signal)
    }
  }
  ask().catch((error) => {
    if (!signal.aborted) throw error
  })
  return { [Symbol.dispose]: () => stopping.abort() }
}

function opsOf({ ready }: BridgeProcess): string {
  return new URL(ready.ops).host
}

async function stopping(started: Promise<BridgeProcess>): Promise<BridgeProcess & AsyncDisposable> {
  const bridge = await started
  return { ...bridge, [Symbol.asyncDispose]: async () => void (await bridge.stop('SIGKILL')) }
}

async function closing<T extends { close(): Promise<unknown> }>(
  started: Promise<T>,
): Promise<T & AsyncDisposable> {
  const opened = await started
  return Object.assign(opened, { [Symbol.asyncDispose]: async () => void (await opened.close()) })
}
