/** Tests the deployment files: the alert rules through promtool, and the health check of the image. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, test } from 'vitest'
import { stringify } from 'yaml'
import { bridgeEnv, startBridge, temporaryDirectory } from '../support/bridge-process.ts'
import { root } from '../support/house/repository.ts'
import { readRunbooks } from '../support/monitoring/runbooks.ts'
import { hasTool, runTool } from '../support/tools.ts'

const MONITORING = 'deploy/monitoring'

it
  .skipIf(!hasTool('promtool', 'prometheus'))
  .for(['bridge', 'states', 'situations', 'causes', 'hours', 'pause'])(
  'the alert rules fire exactly when they should: %s',
  // Some cases last days, each minute of which is evaluated.
  { timeout: 300_000 },
  async (name) => {
    const trial = await runTool('promtool', ['test', 'rules', join(root, MONITORING, `tests/${name}.yml`)])
    expect(trial.stdout + trial.stderr).toContain('SUCCESS')
    expect(trial.code).toBe(0)
  },
)

it.skipIf(!hasTool('promtool', 'prometheus'))('promtool accepts the Prometheus configuration', async () => {
  const check = await runTool('promtool', [
    'check',
    'config',
    '--lint=all',
    '--lint-fatal',
    join(root, MONITORING, 'prometheus.yml'),
  ])
  expect(check.stdout + check.stderr).toContain('is valid')
  expect(check.code).toBe(0)
})

it.skipIf(!hasTool('promtool', 'prometheus'))('every query of the runbooks is one', async () => {
  using directory = temporaryDirectory()
  const queries = readRunbooks().flatMap(({ look, over }) => [...look, over])
  expect(queries.length).toBeGreaterThan(60)
  const check = async (expressions: readonly string[]) => {
    const file = join(directory.path, 'queries.yml')
    const named = expressions.map((expr, index) => ({ record: `query:${index}`, expr }))
    writeFileSync(file, stringify({ groups: [{ name: 'runbooks', rules: named }] }))
    return runTool('promtool', ['check', 'rules', file])
  }
  expect(await check(queries)).toMatchObject({ code: 0, stderr: '' })
  expect((await check(['rate(bridge_leader)'])).code).not.toBe(0)
})

test('the health check exits with 0 beside a running bridge, and with 1 without one', async () => {
  using directory = temporaryDirectory()
  const upstream = { url: 'http://127.0.0.1:9/v2', key: 'none' }
  const bridge = await startBridge(bridgeEnv(upstream, directory.path))
  const port = new URL(bridge.ready.ops).port
  const check = () =>
    runTool(process.execPath, [join(root, 'deploy/health.ts')], { env: { BRIDGE_OPS_PORT: port } })
  try {
    expect((await check()).code).toBe(0)
  } finally {
    await bridge.stop()
  }
  expect(await check()).toMatchObject({ code: 1, stderr: expect.stringContaining(`port ${port}`) })
})
