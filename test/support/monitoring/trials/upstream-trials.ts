/** Trials of what upstream, its key and its quota do, and of what an operator does with polling. */
import { setTimeout as sleep } from 'node:timers/promises'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../src/core/durations.ts'
import { GIVE_UP_MS } from '../../../../src/ingest/machine/postpone.ts'
import { eventually, getJson } from '../../http/api-client.ts'
import { reportingQuota } from '../counting-upstream.ts'
import { type Installation, runBeside, startInstallation } from '../installation.ts'
import { firstOf, operate, overAndOver, publish } from '../operate.ts'
import { disposedWith } from '../placed-fault.ts'
import type { RunbookTrial } from './trial.ts'

/** More than two pages of the plan `lite`. */
const MANY = 120
const ALWAYS = 1_000_000
/** Of an installation that is not told otherwise. */
const QUOTA = 1_000_000
/** One unit is less than a tenth of them. */
const FEW_UNITS = 20

export const upstreamTrials: readonly RunbookTrial[] = [
  {
    name: 'polling-paused',
    about: '`bridge admin pause`; then `bridge admin resume`',
    alerts: { BridgePollingPaused: 30 },
    overSeconds: 30,
    async start() {
      const installation = await startInstallation({ name: 'polling-paused' })
      return {
        ...disposedWith(installation),
        break: () => operate(installation, 'bridge admin pause'),
        mend: () => operate(installation, 'bridge admin resume'),
      }
    },
  },
  {
    name: 'key-revoked',
    about: 'upstream answers 401; then the key is good again, and the process is restarted',
    alerts: { BridgeKeyRefused: 60 },
    overSeconds: 60,
    async start() {
      const installation = await startInstallation({ name: 'key-revoked' })
      const { faults } = installation.sandbox
      return {
        ...disposedWith(installation),
        break: () => void faults.add({ kind: 'revoke-key', count: ALWAYS }),
        mend() {
          faults.remove(null)
          return firstOf(installation).restart()
        },
      }
    },
  },
  {
    name: 'malformed-items',
    about: 'upstream publishes items without identity or time',
    alerts: { BridgeItemsRejected: 60 },
    // Its window.
    overSeconds: 960,
    async start() {
      const installation = await startInstallation({ name: 'malformed-items' })
      return {
        ...disposedWith(installation),
        break: () => void installation.sandbox.publish([{ headline: 'no guid' }, 17]),
        mend: () => {},
      }
    },
  },
  {
    name: 'upstream-fails',
    about: 'upstream answers 500 to everything; then it answers',
    alerts: { BridgeNoGoodPoll: 120 },
    overSeconds: 120,
    async start() {
      const installation = await startInstallation({ name: 'upstream-fails' })
      const { faults } = installation.sandbox
      return {
        ...disposedWith(installation),
        break: () => void faults.add({ kind: 'status', status: 500, count: ALWAYS }),
        mend: () => void faults.remove(null),
      }
    },
  },
  {
    name: 'throttled',
    about: 'upstream answers 429 to a request every three seconds; then to none',
    alerts: { BridgeThrottled: 300 },
    overSeconds: 900,
    async start() {
      const installation = await startInstallation({ name: 'throttled' })
      const { faults } = installation.sandbox
      const fault = overAndOver(async () => {
        faults.add({ kind: 'throttle-429', count: 1, retryAfter: '1' })
        await sleep(3_000)
      })
      return { ...disposedWith(installation), ...fault }
    },
  },
  {
    name: 'other-user',
    about:
      'upstream reports that half of the quota is used, which the bridge did not use; then it reports what the bridge used',
    alerts: { BridgeQuotaDrift: 60 },
    overSeconds: 60,
    async start() {
      const installation = await startInstallation({ name: 'other-user' })
      const upstream = await reportingQuota(installation.sandbox.url, QUOTA)
      await firstOf(installation).restart('SIGTERM', { BRIDGE_UPSTREAM_URL: upstream.url })
      return {
        ...disposedWith(installation, upstream),
        break: () => upstream.report(0.5),
        mend: () => upstream.report(0),
      }
    },
  },
  {
    name: 'quota-low',
    about: 'the key has a quota of which one unit is left; then it has a larger one',
    alerts: { BridgeQuotaLow: 60, BridgeQuotaForecast: 60 },
    overSeconds: 60,
    async start() {
      const installation = await startInstallation({ name: 'quota-low' })
      const restart = (quota: number): Promise<void> =>
        firstOf(installation).restart('SIGTERM', { BRIDGE_UPSTREAM_WEEKLY_QUOTA: String(quota) })
      await eventually(
        () => installation.sandbox.usage().units,
        (units) => units > FEW_UNITS,
      )
      return {
        ...disposedWith(installation),
        break: () => restart(installation.sandbox.usage().units + 1),
        mend: () => restart(QUOTA),
      }
    },
  },
  {
    name: 'clock-skewed',
    about: 'the clock of the host is a minute fast; then it is set right',
    alerts: { BridgeClockSkew: 60 },
    overSeconds: 60,
    async start() {
      const installation = await startInstallation({ name: 'clock-skewed', hasMarketTime: true })
      return {
        ...disposedWith(installation),
        break: () => installation.setClocks(MINUTE_MS),
        mend: () => installation.setClocks(0),
      }
    },
  },
  {
    name: 'gap-of-yesterday',
    about: 'every page of a fill fails, for a day; then the pages come, and `bridge admin retry-gap` is said',
    alerts: { BridgeGapOpen: 60, BridgeDayIncomplete: 60 },
    overSeconds: 120,
    async start() {
      const installation = await startOnLite('gap-of-yesterday')
      return {
        ...disposedWith(installation),
        async break() {
          await leaveGap(installation)
          installation.moveTime(DAY_MS)
        },
        async mend() {
          installation.sandbox.faults.remove(null)
          // Refused where it is filled meanwhile.
          for (const id of await openGaps(installation))
            await runBeside(firstOf(installation), `bridge admin retry-gap ${id}`)
        },
      }
    },
  },
  {
    name: 'gap-of-weeks',
    about: 'every page of a fill fails for three weeks',
    alerts: { BridgeGapGivenUp: 180 },
    // An hour after the event.
    lasting: ['BridgeGapGivenUp'],
    overSeconds: 60,
    async start() {
      const installation = await startOnLite('gap-of-weeks')
      return {
        ...disposedWith(installation),
        async break() {
          await leaveGap(installation)
          installation.moveTime(GIVE_UP_MS + HOUR_MS)
        },
        mend: () => void installation.sandbox.faults.remove(null),
      }
    },
  },
]

/** In market time. */
function startOnLite(name: string): Promise<Installation> {
  return startInstallation({
    name,
    hasMarketTime: true,
    sandbox: { plan: 'lite', dayItems: 0 },
    settings: { BRIDGE_UPSTREAM_PLAN: 'lite' },
  })
}

/** Lets it miss items, and every fill fail from now on. */
async function leaveGap(installation: Installation): Promise<void> {
  installation.sandbox.faults.add({ kind: 'status', status: 500, path: 'pageCursor=', count: ALWAYS })
  publish(installation, MANY)
  await eventually(
    () => openGaps(installation),
    (ids) => ids.length > 0,
  )
}

async function openGaps(installation: Installation): Promise<string[]> {
  const { gaps } = await getJson<{ gaps: { id: string }[] }>(
    `${firstOf(installation).process().ready.http}/v1/status`,
  )
  return gaps.map(({ id }) => id)
}
