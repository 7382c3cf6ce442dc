/**
 * Starts and stops a synthetic upstream service in this process: market, limits, faults, a public and an admin
 * listener.
 */
import { type PlanName, plans } from '../core/plans.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { adminApp } from './admin-router.ts'
import { Faults } from './faults/faults.ts'
import { createFundData } from './funds/fund-data.ts'
import { type LimitFigures, Limits } from './limits.ts'
import { listenLocally } from './listener.ts'
import { londonMomentMs } from './market/london.ts'
import { Market } from './market/market.ts'
import { findScenario } from './scenario-list.ts'
import { DOCUMENTS_PATH, upstreamApp } from './upstream-router.ts'
import { createCounts, type Usage, usageOf } from './usage.ts'

/** Options of a sandbox; every field has a default. Each limit overrides one figure of the plan. */
export interface SandboxOptions extends Partial<LimitFigures> {
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
  /** Items of the business day before the start; default: the scenario's figure. */
  backlog?: number
  /** Items of each usual day, at times of the same shape; default 1,900. */
  dayItems?: number
  /** Word that replaces `native` in parameter names and, capitalised, in the category kind. */
  nativeWord?: string
  /**
   * Prefix of the document URLs in the items; default `<own address>/documents`, where they are served.
   * Two sandboxes with the same seed serve identical items only if this prefix is identical too.
   */
  documentsUrl?: string
}

/**
 * Starts a sandbox.
 * @throws BridgeError `usage` for an unknown scenario, `failed` when a port is taken
 */
export async function startSandbox(options: SandboxOptions, { clock }: { clock: Clock }) {
  const { plan = 'advanced', key = 'sandbox-key', seed = 1, speed = 1, nativeWord = 'native' } = options
  const { host = '127.0.0.1', port = 0, adminPort = 0, scenario: name = 'normal' } = options
  const scenario = findScenario(name)
  const nativeKind = `${nativeWord.charAt(0).toUpperCase()}${nativeWord.slice(1)}`
  const adminListener = await listenLocally({ host, port: adminPort, flag: '--admin-port' })
  const publicListener = await listenLocally({ host, port, flag: '--port' }).catch(async (error: unknown) => {
    await adminListener.close()
    throw error
  })
  const { documentsUrl = `${publicListener.url}${DOCUMENTS_PATH}`, backlog, dayItems } = options
  const market = new Market({ scenario, seed, speed, backlog, dayItems, nativeKind, documentsUrl }, clock)
  const { weeklyQuota, ratePerSecond, burst } = { ...plans[plan], ...options }
  const figures = { weeklyQuota, ratePerSecond, burst }
  const limits = new Limits(figures, clock.now())
  const faults = new Faults(clock, scenario.faults, {
    momentMs: (time) => londonMomentMs(scenario.day, time),
    nowMs: () => market.nowMs(),
  })
  const finished = (): boolean => market.finished() && faults.finished()
  const counts = createCounts()
  const usage = (): Usage => usageOf(counts, limits.unitsUsed(clock.now()))

  const funds = createFundData({ seed, issuers: market.issuers, now: () => market.nowMs() })
  const { documentsAfterMs } = scenario
  const served = { market, funds, limits, counts, faults, key, plan, nativeWord, clock }
  publicListener.serve(upstreamApp({ ...served, documentsUrl, documentsAfterMs }))
  const described = { name, meaning: scenario.meaning, seed, speed, plan, limits: figures }
  adminListener.serve(adminApp({ host, market, faults, usage, finished, scenario: described }))
  return {
    /** Base address, ending in `/v2`. */
    url: `${publicListener.url}/v2`,
    adminUrl: adminListener.url,
    key,
    faults,
    /** Current market time, ms since 1970. */
    marketNow: () => market.nowMs(),
    truth: () => market.truth(),
    usage,
    /** Publishes these items now. */
    publish: (items: readonly unknown[]) => market.publish(items),
    /** Moves the market clock forward. */
    moveForward: (ms: number) => market.moveForward(ms),
    /** True when the scenario has no items left to publish and no faults left to inject. */
    finished,
    /** Cuts every connection and frees both ports. Callable twice. */
    async close() {
      await Promise.all([publicListener.close(), adminListener.close()])
    },
  }
}

/** A running sandbox. */
export type Sandbox = Awaited<ReturnType<typeof startSandbox>>
