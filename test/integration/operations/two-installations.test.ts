/** Watches two installations with one real Prometheus and the shipped rules, and breaks one of them. */
import { expect, it } from 'vitest'
import { queriesOf } from '../../../deploy/monitoring/boards/board.ts'
import { overview } from '../../../deploy/monitoring/boards/overview.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'
import { type PrometheusProcess, startPrometheus } from '../../support/monitoring/prometheus-process.ts'
import { quickRules, threeTenths } from '../../support/monitoring/quick-rules.ts'
import { shippedRules } from '../../support/monitoring/shipped.ts'
import { hasTool } from '../../support/tools.ts'

it.skipIf(!hasTool('prometheus', 'prometheus'))(
  'of two installations on one Prometheus exactly the broken one pages, under its own name, also once it is gone; every panel of the overview shows both',
  async () => {
    await using sound = await startInstallation('sound')
    await using broken = await startInstallation('broken')
    using directory = temporaryDirectory()
    await using prometheus = await startPrometheus(directory.path, quickRules(shippedRules(), threeTenths), [
      sound.target,
      broken.target,
    ])
    await eventually(
      () => namesOf(prometheus, 'bridge:leader:sum == 1'),
      (names) => names.join() === 'broken,sound',
    )
    for (const expression of panelQueries()) {
      await eventually(
        () => namesOf(prometheus, expression),
        (names) => names.includes('broken') && names.includes('sound'),
      )
    }
    await broken.revokeKey()
    // Its last good poll must be a minute old, which no rendering of the rules shortens.
    await eventually(
      () => pages(prometheus),
      (fired) => fired.length > 0,
      100_000,
    )
    expect(await pages(prometheus)).toEqual(['BridgeNoGoodPoll of broken'])
    await broken.kill()
    const all = ['BridgeLeaderCount of broken', 'BridgeNoGoodPoll of broken']
    await eventually(
      () => pages(prometheus),
      (fired) => all.every((page) => fired.includes(page)),
      60_000,
    )
    await eventually(
      () => namesOf(prometheus, 'ALERTS{alertname="BridgeDown",alertstate="firing"}'),
      (names) => names.join() === 'broken',
      60_000,
    )
    expect(await pages(prometheus)).toEqual(all)
  },
  300_000,
)

/**
 * The query of each panel of the overview, for all installations and as Grafana fills it in at these scrapes; without shares of
 * commits, of which a quiet installation may have none.
 */
function panelQueries(): string[] {
  return queriesOf(overview)
    .filter((query) => !query.includes('bridge:objective_slow:'))
    .map((query) =>
      query
        .replaceAll('$installation', '.*')
        .replaceAll('$instance', '.*')
        .replaceAll('$__rate_interval', '10s'),
    )
}

/** Every page that has fired so far, with its installation, sorted. */
async function pages(prometheus: PrometheusProcess): Promise<string[]> {
  const fired = await prometheus.query(
    'group by (alertname, installation) (max_over_time(ALERTS{alertstate="firing",severity="page"}[1h]))',
  )
  return fired.map(({ metric }) => `${metric.alertname} of ${metric.installation}`).toSorted()
}

/** The installations that the expression gives, sorted. */
async function namesOf(prometheus: PrometheusProcess, expression: string): Promise<string[]> {
  const found = await prometheus.query(expression)
  return found.map(({ metric }) => metric.installation ?? '').toSorted()
}

/** A bridge on the embedded log with a sandbox of its own, which leads and has polled. */
async function startInstallation(name: string) {
  const directory = temporaryDirectory()
  const sandbox = await startSandbox(
    { scenario: 'quiet', plan: 'advanced', weeklyQuota: 1_000_000 },
    { clock: systemClock },
  )
  const bridge = await startBridge(
    bridgeEnv(sandbox, directory.path, { BRIDGE_UPSTREAM_PLAN: 'advanced', BRIDGE_INSTALLATION: name }),
  )
  await eventually(
    async () => (await fetch(`${bridge.ready.ops}/metrics`)).text(),
    (text) => /^bridge_leader 1$/m.test(text) && /^bridge_poll_last_success_timestamp_seconds /m.test(text),
  )
  return {
    target: new URL(bridge.ready.ops).host,
    /** From now on upstream refuses the key. */
    async revokeKey(): Promise<void> {
      const response = await fetch(`${sandbox.adminUrl}/faults`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ kind: 'revoke-key', count: 1_000_000 }),
      })
      expect(response.status).toBe(200)
    },
    kill: () => bridge.stop('SIGKILL'),
    async [Symbol.asyncDispose]() {
      await bridge.stop('SIGKILL')
      await sandbox.close()
      directory[Symbol.dispose]()
    },
  }
}
