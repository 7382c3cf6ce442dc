/** Asks a real Alertmanager what the shipped configuration does: who hears of an alert, and what is held back. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, test } from 'vitest'
import { parse } from 'yaml'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { root } from '../../support/house/repository.ts'
import { eventually } from '../../support/http/api-client.ts'
import { freePorts } from '../../support/kafka/runtime/ports.ts'
import { hasTool, runTool } from '../../support/tools.ts'

const CONFIG = join(root, 'deploy/compose/alertmanager.yml')
const isHere = hasTool('amtool', 'prometheus-alertmanager')
const rules = parse(readFileSync(join(root, 'deploy/monitoring/rules/bridge.yml'), 'utf8')) as {
  groups: { rules: { alert?: string; labels?: { severity: string } }[] }[]
}
const alerts = rules.groups
  .flatMap((group) => group.rules)
  .flatMap(({ alert, labels }) => (alert === undefined ? [] : [{ alert, severity: labels?.severity ?? '' }]))

test.skipIf(!isHere)('amtool accepts the configuration', async () => {
  expect(await runTool('amtool', ['check-config', CONFIG])).toMatchObject({ code: 0 })
})

it.skipIf(!isHere).each(['page', 'ticket'])(
  'alerts of severity %s go to the receiver of that name',
  async (severity) => {
    expect(alerts.some((alert) => alert.severity === severity)).toBe(true)
    const route = [
      'config',
      'routes',
      'test',
      `--config.file=${CONFIG}`,
      `severity=${severity}`,
      'installation=a',
    ]
    expect((await runTool('amtool', route)).stdout.trim()).toBe(severity)
  },
)

test('no shipped alert has a severity without a route, and no rule of silence names an alert that is not shipped', () => {
  expect([...new Set(alerts.map(({ severity }) => severity))].toSorted()).toEqual(['page', 'ticket'])
  const named = readFileSync(CONFIG, 'utf8').match(/Bridge[A-Za-z]+/g) ?? []
  expect(named.length).toBeGreaterThan(8)
  const shipped = new Set(alerts.map(({ alert }) => alert))
  expect(named.filter((name) => !shipped.has(name))).toEqual([])
})

test.skipIf(!isHere)(
  'what follows from another alert of the same installation is held back, and nothing else',
  async () => {
    using folder = temporaryDirectory()
    const [port = 0] = await freePorts(1)
    const base = `http://127.0.0.1:${port}/api/v2`
    const alertmanager = startAlertmanager(folder.path, port)
    try {
      await eventually(
        () =>
          fetch(`http://127.0.0.1:${port}/-/ready`).then(
            ({ ok }) => ok,
            () => false,
          ),
        (isReady) => isReady,
      )
      const firing = [
        { alertname: 'BridgeLeaderCount', severity: 'page', installation: 'a' },
        { alertname: 'BridgeNoGoodPoll', severity: 'page', installation: 'a' },
        { alertname: 'BridgeNoGoodPoll', severity: 'page', installation: 'b' },
        { alertname: 'BridgeKeyRefused', severity: 'ticket', installation: 'a' },
        { alertname: 'BridgeCommitUnknown', severity: 'page', installation: 'c' },
        { alertname: 'BridgeNoGoodPoll', severity: 'page', installation: 'c' },
        { alertname: 'BridgeCopyBehind', severity: 'ticket', installation: 'c', instance: 'three' },
        { alertname: 'BridgeCopyBehind', severity: 'ticket', installation: 'a', instance: 'one' },
        { alertname: 'BridgeDown', severity: 'ticket', installation: 'a', instance: 'one' },
        { alertname: 'BridgeNotReady', severity: 'ticket', installation: 'a', instance: 'one' },
        { alertname: 'BridgeNotReady', severity: 'ticket', installation: 'a', instance: 'two' },
      ]
      const posted = await fetch(`${base}/alerts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(firing.map((labels) => ({ labels }))),
      })
      expect(posted.status).toBe(200)
      const suppressed = async (): Promise<string[]> =>
        ((await (await fetch(`${base}/alerts`)).json()) as HeldAlert[])
          .filter(({ status }) => status.state === 'suppressed')
          .map(({ labels: { alertname, installation, instance } }) =>
            [alertname, installation, instance].join(' ').trim(),
          )
          .toSorted()
      // Alerts are taken in their order: once what follows from the last of the causes is held back, all causes work.
      await eventually(suppressed, (held) => held.includes('BridgeNotReady a one'))
      expect(await suppressed()).toEqual([
        'BridgeCopyBehind c three',
        'BridgeNoGoodPoll a',
        'BridgeNoGoodPoll c',
        'BridgeNotReady a one',
      ])
    } finally {
      alertmanager.kill('SIGKILL')
    }
  },
)

interface HeldAlert {
  labels: Record<string, string>
  status: { state: 'unprocessed' | 'active' | 'suppressed' }
}

function startAlertmanager(folder: string, port: number): ChildProcess {
  const flags = [`--config.file=${CONFIG}`, `--storage.path=${folder}`, '--cluster.listen-address=']
  const listen = `--web.listen-address=127.0.0.1:${port}`
  return spawn('prometheus-alertmanager', [...flags, listen], { stdio: 'ignore' })
}
