/**
 * Starts and stops a synthetic upstream service in this process: market, limits, faults, a public and an admin
 * listener.
 */
import { type PlanName, plans } from '../core/plans.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { adminApp } from './admin-router.ts'
import { scheduledFaults } from './faults/fault-schedule.ts'
import { createFaults, type Faults } from './faults/faults.ts'
import { createFundData } from './funds/fund-data.ts'
import { createLimits } from './limits.ts'
import { listenLocally } from './listener.ts'
import { londonMomentMs } from './market/london.ts'
import { createMarket, type Published, type Truth } from './market/market.ts'
import { findScenario } from './scenario-list.ts'
import { DOCUMENTS_PATH, upstreamApp } from './upstream-router.ts'
import { createUsage, type Usage } from './usage.ts'

/** Options of a sandbox; every field has a default. */
export interface SandboxOptions {
  /** Name of a scenario; default `normal`. */
  scenario?: string
  /** Default `advanced`. */
  plan?: PlanName
  /** The one valid key; default `sandbox-key`. */
  key?: string
  /** Seed that determines everything the market does; default 1. */
  seed?: number
  /** Market seconds per real second; default 1. Limits always run in real time. */
  speed?: number
  /** 0, the default, picks a free port. */
  port?: number
  adminPort?: number
  /** Address of both listeners; default 127.0.0.1. The admin API has no authentication. */
  host?: string
  /** Each overrides one figure of the plan. */
  weeklyQuota?: number
  ratePerSecond?: number
  burst?: number
  /** Items of the business day before the start; default: the scenario's figure. */
  backlog?: number
  /** Word that replaces `native` in parameter names and, capitalised, in the category kind. */
  nativeWord?: string
  /**
   * Prefix of the document URLs in the items; default `<own address>/documents`, where they are served.
   * Two sandboxes with the same seed serve identical items only if this prefix is identical too.
   */
  documentsUrl?: string
}

export interface Sandbox {
  /** Base address, ending in `/v2`. */
  readonly url: string
  readonly adminUrl: string
  readonly key: string
  readonly faults: Faults
  /** Current market time, ms since 1970. */
  marketNow(): number
  truth(): Truth
  usage(): Usage
  /** Publishes these items now. */
  publish(items: readonly unknown[]): Published
  /** Moves the market clock forward. */
  moveForward(ms: number): void
  /** True when the scenario has no items left to publish and no faults left to inject. */
  finished(): boolean
  /** Cuts every connection and frees both ports. Callable twice. */
  close(): Promise<void>
}

/**
 * Starts a sandbox.
 * @throws BridgeError `usage` for an unknown scenario, `failed` when a port is taken
 */
export async function startSandbox(options: SandboxOptions, { clock }: { clock: Clock }): Promise<Sandbox> {
  const { plan = 'advanced', key = 'sandbox-key', seed = 1, speed = 1, nativeWord = 'native' } = options
  const scenarioName = options.scenario ?? 'normal'
  const scenario = findScenario(scenarioName)
  const nativeKind = `${nativeWord.charAt(0).toUpperCase()}${nativeWord.slice(1)}`
  const { host = '127.0.0.1', port = 0, adminPort = 0 } = options
  const adminListener = await listenLocally({ host, port: adminPort, flag: '--admin-port' })
  const publicListener = await listenLocally({ host, port, flag: '--port' }).catch(async (error: unknown) => {
    await adminListener.close()
    throw error
  })
  const documentsUrl = options.documentsUrl ?? `${publicListener.url}${DOCUMENTS_PATH}`
  const backlog = options.backlog ?? null
  const market = createMarket({ scenario, seed, speed, backlog, nativeKind, documentsUrl }, clock)
  const figures = {
    weeklyQuota: options.weeklyQuota ?? plans[plan].weeklyQuota,
    ratePerSecond: options.ratePerSecond ?? plans[plan].ratePerSecond,
    burst: options.burst ?? plans[plan].burst,
  }
  const limits = createLimits(figures, clock.now())
  const faults = scheduledFaults(createFaults(clock), scenario.faults, {
    momentMs: (time) => londonMomentMs(scenario.day, time),
    nowMs: market.nowMs,
  })
  const finished = (): boolean => market.finished() && faults.finished()
  const count = createUsage()
  const usage = (): Usage => count.read(limits.unitsUsed(clock.now()))

  const funds = createFundData({ seed, issuers: market.issuers, now: market.nowMs })
  const { documentsAfterMs } = scenario
  const served = { market, funds, limits, usage: count, faults, key, plan, nativeWord, clock }
  publicListener.serve(upstreamApp({ ...served, documentsUrl, documentsAfterMs }))
  const described = { name: scenarioName, meaning: scenario.meaning, seed, speed, plan, limits: figures }
  adminListener.serve(adminApp({ market, faults, usage, finished, scenario: described }))
  return {
    url: `${publicListener.url}/v2`,
    adminUrl: adminListener.url,
    key,
    faults,
    marketNow: market.nowMs,
    truth: market.truth,
    usage,
    publish: market.publish,
    moveForward: market.moveForward,
    finished,
    async close() {
      await Promise.all([publicListener.close(), adminListener.close()])
    },
  }
}
