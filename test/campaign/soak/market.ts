/**
 * Plays business days of ten times the usual items from a sandbox process of its own: both bursts in real time, the quiet
 * hours in steps of the market's clock.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { MINUTE_MS, SECOND_MS } from '../../../src/core/durations.ts'
import { londonMomentMs, nextBusinessDay } from '../../../src/sandbox/market/london.ts'
import type { Truth } from '../../../src/sandbox/market/market.ts'
import { readJson, type SoakProcess, startProcess } from './process.ts'

/** Every scenario begins then. */
const FIRST_DAY = '2026-02-03'
const MORNING = '06:59:30'
/** Until then the market's clock runs as ours does. */
const BURSTS_OVER = '07:11:30'
/** By then the daily reconciliation is due, and a usual day has no more items. */
const EVENING = '19:05:00'
/** So often the clock steps. */
const STEP_EVERY_MS = 5 * SECOND_MS
/** Longest step that the sandbox takes at once. */
const LONGEST_STEP_MS = 24 * 60 * MINUTE_MS

/** Where the market's clock was, and when. */
export interface MarketPlace {
  marketMs: number
  atMs: number
}

/** What its days are like. */
export interface MarketDays {
  items: number
  /** How far the clock steps every five seconds of the quiet hours. */
  stepMs: number
}

/** The upstream of a soak. */
export class SoakMarket {
  readonly #days: MarketDays
  readonly #process: SoakProcess
  readonly #ready: { url: string; admin: string; key: string }

  private constructor(
    days: MarketDays,
    process: SoakProcess,
    ready: { url: string; admin: string; key: string },
  ) {
    this.#days = days
    this.#process = process
    this.#ready = ready
  }

  /**
   * Starts the sandbox with such days. The market of a seed is always the same, so a later run begins where it would stand
   * had it gone on during the pause: `from` is where the run before left it. Rejects where `stopped` aborts, and leaves no
   * process.
   */
  static async start(
    folder: string,
    days: MarketDays,
    from: MarketPlace | null,
    stopped: AbortSignal,
  ): Promise<SoakMarket> {
    const flags = `--scenario normal --daily-items ${days.items} --plan ultimate --weekly-quota 1000000 --seed 1`
    const documents = '--documents-url https://documents.sandbox.example'
    const process = await startProcess(
      `${folder}/sandbox`,
      ['sandbox', ...`${flags} ${documents}`.split(' ')],
      {},
      stopped,
    )
    const ready = process.ready as { url: string; admin: string; key: string }
    const market = new SoakMarket(days, process, ready)
    try {
      if (from !== null) await market.moveTo(from.marketMs + Math.max(0, Date.now() - from.atMs), stopped)
    } catch (error) {
      await market.stop()
      throw error
    }
    return market
  }

  get url(): string {
    return this.#ready.url
  }

  get key(): string {
    return this.#ready.key
  }

  get pid(): number {
    return this.#process.pid
  }

  /** The market's present, ms since 1970. */
  async nowMs(): Promise<number> {
    const { marketTime } = await readJson<{ marketTime: string }>(`${this.#ready.admin}/scenario`)
    return Date.parse(marketTime)
  }

  /** What it has published since it started, the items of earlier runs among them. */
  truth(): Promise<Truth> {
    return readJson<Truth>(`${this.#ready.admin}/truth`)
  }

  /** Moves its clock forward to a moment; a moment that is over changes nothing. Rejects where `stopped` aborts. */
  async moveTo(untilMs: number, stopped?: AbortSignal): Promise<void> {
    for (let leftMs = untilMs - (await this.nowMs()); leftMs > 0; leftMs = untilMs - (await this.nowMs())) {
      stopped?.throwIfAborted()
      await this.#advance(Math.min(leftMs, LONGEST_STEP_MS))
    }
  }

  /**
   * Plays the day that it is to its evening, or the next business day where this one's morning is over; resolves with the
   * date, or null where the signal came first.
   */
  async playDay(signal: AbortSignal): Promise<string | null> {
    const startMs = await this.nowMs()
    let day = FIRST_DAY
    while (londonMomentMs(day, BURSTS_OVER) < startMs) day = nextBusinessDay(day, 1)
    await this.moveTo(londonMomentMs(day, MORNING))
    const burstsOverMs = londonMomentMs(day, BURSTS_OVER)
    const eveningMs = londonMomentMs(day, EVENING)
    for (;;) {
      if (signal.aborted) return null
      const nowMs = await this.nowMs()
      if (nowMs >= eveningMs) return day
      if (nowMs >= burstsOverMs) await this.#advance(this.#days.stepMs)
      await sleep(STEP_EVERY_MS)
    }
  }

  async stop(): Promise<void> {
    await this.#process.stop('SIGTERM')
  }

  async #advance(advanceMs: number): Promise<void> {
    await readJson(`${this.#ready.admin}/clock`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ advanceMs: Math.round(advanceMs) }),
    })
  }
}
