/** Trials of receivers that fail, for minutes, hours and days, and of an installation that lost what delivers to them. */
import type { ServerResponse } from 'node:http'
import { HOUR_MS, MINUTE_MS } from '../../../../src/core/durations.ts'
import { eventually } from '../../http/api-client.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../webhooks/endpoint-api.ts'
import { startReceiver } from '../../webhooks/webhook-receiver.ts'
import { type Installation, startInstallation } from '../installation.ts'
import { firstOf, publish } from '../operate.ts'
import { disposedWith, type PlacedFault } from '../placed-fault.ts'
import type { RunbookTrial } from './trial.ts'

/** Retries are at most ten hours apart; the fault of five days is played in steps of that. */
const STEPS = 14
const STEP_MS = 10 * HOUR_MS

export const webhookTrials: readonly RunbookTrial[] = [
  {
    name: 'receiver-down',
    about: 'a receiver answers 500 for two hours; then 204, and its endpoint is enabled again',
    alerts: { BridgeWebhookFailing: 120, BridgeWebhookLate: 120 },
    overSeconds: 120,
    start: () =>
      failingReceiver('receiver-down', async (installation) => {
        installation.moveTime(2 * HOUR_MS + MINUTE_MS)
      }),
  },
  {
    name: 'receiver-gone',
    about: 'a receiver answers 500 for more than five days',
    alerts: { BridgeWebhookDisabled: 300 },
    // An hour after it was disabled.
    lasting: ['BridgeWebhookDisabled'],
    overSeconds: 60,
    start: () =>
      failingReceiver('receiver-gone', async (installation, failures) => {
        for (let step = 0; step < STEPS; step++) {
          const before = failures()
          installation.moveTime(STEP_MS)
          publish(installation)
          if (await isDisabled(installation)) return
          await eventually(
            async () => failures() > before || (await isDisabled(installation)),
            (isTried) => isTried,
          )
        }
      }),
  },
  {
    name: 'deliverer-gone',
    about: 'kill -9 of the only process with the role `webhooks`; then it is started',
    alerts: { BridgeNoDelivery: 60 },
    overSeconds: 120,
    async start(kafka) {
      const { brokers } = await kafka.shared()
      const installation = await startInstallation({
        ...{ name: 'deliverer-gone', brokers, nodes: 2 },
        settings: LOCAL_RECEIVERS,
      })
      const [serving, delivering] = installation.nodes
      if (serving === undefined || delivering === undefined) throw new Error('two processes were asked for')
      await serving.restart('SIGTERM', { BRIDGE_ROLES: 'poller,api,feed' })
      await delivering.restart('SIGTERM', { BRIDGE_ROLES: 'webhooks' })
      await askEndpoints(serving.process().ready.http, 'POST', '', { url: 'http://127.0.0.1:9/' })
      return {
        ...disposedWith(installation),
        break: async () => void (await delivering.process().stop('SIGKILL')),
        mend: () => delivering.restart(),
      }
    },
  },
]

/** An installation in market time, one of whose receivers fails until it is mended. */
async function failingReceiver(
  name: string,
  breakIt: (installation: Installation, failures: () => number) => Promise<void>,
): Promise<PlacedFault> {
  await using made = new AsyncDisposableStack()
  let status = 500
  const receiver = made.use(
    await startReceiver((response: ServerResponse) => response.writeHead(status).end()),
  )
  const installation = made.use(
    await startInstallation({
      name,
      hasMarketTime: true,
      sandbox: { dayItems: 0 },
      settings: LOCAL_RECEIVERS,
    }),
  )
  const base = firstOf(installation).process().ready.http
  const { id } = await askEndpoints(base, 'POST', '', { url: receiver.url })
  publish(installation)
  await eventually(
    () => receiver.received.length,
    (tries) => tries > 0,
  )
  const held = made.move()
  return {
    ...disposedWith(installation, held),
    break: () => breakIt(installation, () => receiver.received.length),
    async mend() {
      status = 204
      await askEndpoints(base, 'POST', `/${id}/enable`, {})
    },
  }
}

async function isDisabled(installation: Installation): Promise<boolean> {
  const metrics = await fetch(`http://${firstOf(installation).target}/metrics`)
  return /^bridge_webhook_disabled_total\{reason="failing"\} [1-9]/m.test(await metrics.text())
}
