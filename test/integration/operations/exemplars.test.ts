/** Tests exemplars over a real Prometheus: a slow bucket leads to the trace of a poll, or of an attempt, that was in it. */
import { expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'
import { startPrometheus } from '../../support/monitoring/prometheus-process.ts'
import { startOtlpReceiver } from '../../support/otlp-receiver.ts'
import { hasTool } from '../../support/tools.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'

const SOON_MS = 60_000
const NO_RULES = 'groups: []\n'

it.skipIf(!hasTool('prometheus', 'prometheus'))(
  'Prometheus scrapes everything that it did before, and stores exemplars whose traces were sent',
  async () => {
    using directory = temporaryDirectory()
    using ofPrometheus = temporaryDirectory()
    await using receiver = await startOtlpReceiver()
    await using webhook = await startReceiver()
    const sandbox = await startSandbox({ scenario: 'demo', weeklyQuota: 1_000_000 }, { clock: systemClock })
    const bridge = await startBridge(
      bridgeEnv(sandbox, directory.path, {
        BRIDGE_UPSTREAM_PLAN: 'advanced',
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        ...LOCAL_RECEIVERS,
      }),
    )
    try {
      await askEndpoints(bridge.ready.http, 'POST', '', { url: webhook.url })
      await using prometheus = await startPrometheus(ofPrometheus.path, NO_RULES, [
        new URL(bridge.ready.ops).host,
      ])
      for (const [histogram, name] of [
        ['bridge_detection_latency_seconds', 'poll'],
        ['bridge_publish_latency_seconds', 'poll'],
        ['bridge_webhook_attempt_duration_seconds', 'deliver'],
      ] as const) {
        const [exemplar] = await eventually(
          () => prometheus.exemplars(`${histogram}_bucket`),
          ({ length }) => length > 0,
          SOON_MS,
        )
        const span = await eventually(
          () => receiver.spans.find(({ spanId }) => spanId === exemplar?.labels.span_id),
          (found) => found !== undefined,
          SOON_MS,
        )
        expect(span?.traceId).toBe(exemplar?.labels.trace_id)
        expect([name, 'scan']).toContain(span?.name)
      }
      // Each series of the text is there by the same name: what rules and dashboards ask for.
      const inText = async (): Promise<string[]> => {
        const text = await (await fetch(`${bridge.ready.ops}/metrics`)).text()
        return text.split('\n').filter((line) => line.startsWith('bridge_'))
      }
      const missing = async (): Promise<string[]> => {
        const scraped = await prometheus.query('{job="bridge", __name__=~"bridge_.*"}')
        const counts = countsOf(scraped.map(({ metric }) => metric.__name__ ?? ''))
        const wanted = countsOf((await inText()).map((line) => line.split(/[{ ]/)[0] ?? ''))
        return [...wanted].flatMap(([name, count]) => (counts.get(name) === count ? [] : name))
      }
      // A gauge may appear between two scrapes.
      await eventually(missing, ({ length }) => length === 0, SOON_MS)
    } finally {
      await bridge.stop()
      await sandbox.close()
    }
  },
)

function countsOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
