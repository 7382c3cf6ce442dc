/**
 * Runs bridges for hours at ten times the usual day, on the embedded log or on Kafka, with restarts and broker stops, and
 * measures whether they grow. A later run on the same folder goes on with its log, market and result. Used by `npm run
 * campaign -- --soak MINUTES`.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MINUTE_MS, SECOND_MS } from '../../../src/core/durations.ts'
import { bearer } from '../../support/http/api-client.ts'
import { SoakBridges, type SoakLog } from './bridges.ts'
import { SoakLoad } from './load.ts'
import { type MarketPlace, SoakMarket } from './market.ts'
import { readJson } from './process.ts'
import { isWhole, type SoakDay, type SoakRun, type SoakState, writeResult } from './result.ts'
import { bytesIn, keep, sampleOf, samplesIn } from './samples.ts'

const SAMPLE_EVERY_MS = 5 * SECOND_MS
/** Between two collections the heap grows by a third. Each window of five minutes has a look right after one. */
const COLLECT_EVERY_MS = 2 * MINUTE_MS
const COLLECTED_MS = SECOND_MS
const WRITE_EVERY_MS = 5 * MINUTE_MS
const LOOK_EVERY_MS = 5 * SECOND_MS
/** All restarts are early, so that what follows is one long stretch. */
const RESTARTS = [
  { minute: 5, signal: 'SIGTERM' },
  { minute: 10, signal: 'SIGKILL' },
  { minute: 15, signal: 'SIGTERM' },
  { minute: 20, signal: 'SIGKILL' },
] as const
/** Broker stops go on to the end: no bridge is restarted for them. */
const BROKER_STOP_EVERY_MINUTES = 25
const BROKER_AWAY_MS = 30 * SECOND_MS
/** From its evening until a day's reconciliation has ended and every webhook was delivered. */
const JUDGE_MS = 10 * MINUTE_MS
const LISTED = 20

/** What a run is given. */
export interface SoakOptions {
  log: SoakLog
  /** Folder of the store, the logs, the samples and the state; made where it is not there. */
  store: string
  minutes: number
  /** Items of each business day; the same in all runs of a folder. */
  dailyItems: number
  /** Minutes of the market that pass every five seconds outside of its bursts. */
  stepMinutes: number
  /** The result file. */
  result: string
  notify: (line: string) => void
}

interface Kept extends SoakState {
  place: MarketPlace | null
}

/** One run, to its last minute or the signal; true where nothing was lost, repeated or left open. */
export async function soak(options: SoakOptions, stopped: AbortSignal): Promise<boolean> {
  mkdirSync(options.store, { recursive: true })
  const run = new Soak(options)
  await run.play(stopped)
  return run.isWhole
}

class Soak {
  readonly #options: SoakOptions
  readonly #state: Kept
  readonly #run: SoakRun
  readonly #over = new AbortController()

  constructor(options: SoakOptions) {
    this.#options = options
    const { store, log, minutes } = options
    const file = join(store, 'state.json')
    this.#state = existsSync(file)
      ? (JSON.parse(readFileSync(file, 'utf8')) as Kept)
      : { log, runs: [], days: [], place: null }
    if (this.#state.log !== log) throw new Error(`${store} is the store of a soak on ${this.#state.log}`)
    this.#run = {
      startedAt: new Date().toISOString(),
      endedAt: null,
      commit: execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
        cwd: import.meta.dirname,
        encoding: 'utf8',
      }).trim(),
      ...{ minutes, restarts: [], brokerStops: [], counts: null, failures: {}, broken: [] },
    }
    this.#state.runs.push(this.#run)
  }

  get isWhole(): boolean {
    return this.#state.days.every(isWhole) && this.#state.runs.every(({ broken }) => broken.length === 0)
  }

  async play(stopped: AbortSignal): Promise<void> {
    const { minutes, notify } = this.#options
    const over = AbortSignal.any([stopped, this.#over.signal])
    await using running = new AsyncDisposableStack()
    const parts = await this.#start(running, over).catch((error: unknown) => {
      this.#over.abort()
      if (stopped.aborted) return null
      throw error
    })
    if (parts === null) return notify('stopped while starting')
    const { market, bridges, load } = parts
    notify(
      `started; upstream ${market.url}, bridge ${bridges.http}, pids ${bridges.list().map(({ process }) => process.pid)}`,
    )
    const untilMs = Date.now() + minutes * MINUTE_MS
    try {
      await this.#together([
        this.#every(SAMPLE_EVERY_MS, over, () => this.#measure(bridges)),
        this.#every(WRITE_EVERY_MS, over, async () => this.#write(load, await placeOf(market))),
        this.#every(LOOK_EVERY_MS, over, () => this.#disturb(bridges, untilMs)),
        this.#playDays(market, load, bridges, over),
      ])
    } finally {
      this.#over.abort()
      const place = await placeOf(market)
      await running.disposeAsync()
      this.#run.endedAt = new Date().toISOString()
      this.#write(load, place)
    }
  }

  /** `running` stops what was started, also where a later part does not start. */
  async #start(
    running: AsyncDisposableStack,
    over: AbortSignal,
  ): Promise<{ market: SoakMarket; bridges: SoakBridges; load: SoakLoad }> {
    const { log, store, dailyItems, stepMinutes } = this.#options
    const days = { items: dailyItems, stepMs: stepMinutes * MINUTE_MS }
    const market = await SoakMarket.start(store, days, this.#state.place, over)
    running.defer(() => market.stop())
    const bridges = await SoakBridges.start(store, log, market, over)
    running.defer(async () => void this.#run.broken.push(...(await bridges.stop())))
    const load = new SoakLoad(() => bridges.http, over)
    await load.start()
    return { market, bridges, load }
  }

  /** Rejects with the first fault, after every part has ended. */
  async #together(parts: readonly Promise<void>[]): Promise<void> {
    const guarded = parts.map((part) =>
      part.catch((error: unknown) => {
        this.#over.abort()
        throw error
      }),
    )
    const ends = await Promise.allSettled(guarded)
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }

  async #every(everyMs: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      await work()
      await sleep(everyMs, undefined, { signal }).catch(() => undefined)
    }
  }

  #collectAtMs = 0

  async #measure(bridges: SoakBridges): Promise<void> {
    const { store } = this.#options
    if (Date.now() >= this.#collectAtMs) {
      this.#collectAtMs = Date.now() + COLLECT_EVERY_MS
      for (const { process } of bridges.list()) process.collect()
      await sleep(COLLECTED_MS)
    }
    for (const bridge of bridges.list()) {
      const sample = await sampleOf(bridge)
      if (sample !== null) keep(store, sample)
    }
  }

  #brokerStops = 0

  /** Restarts and broker stops when they are due, and the end. */
  async #disturb(bridges: SoakBridges, untilMs: number): Promise<void> {
    const { minutes, notify } = this.#options
    if (Date.now() >= untilMs) {
      this.#over.abort()
      return
    }
    this.#run.broken.push(...(await bridges.revive()))
    const minute = minutes - (untilMs - Date.now()) / MINUTE_MS
    const due = RESTARTS[this.#run.restarts.length]
    if (due !== undefined && minute >= due.minute) {
      this.#run.restarts.push({ at: new Date().toISOString(), signal: due.signal })
      notify(`restart by ${due.signal}`)
      this.#run.broken.push(...(await bridges.restart(due.signal)))
    }
    if (bridges.brokerFolder === null || minute < (this.#brokerStops + 0.5) * BROKER_STOP_EVERY_MINUTES)
      return
    const signal = this.#brokerStops % 2 === 0 ? 'SIGTERM' : 'SIGKILL'
    this.#brokerStops += 1
    const seconds = BROKER_AWAY_MS / SECOND_MS
    this.#run.brokerStops.push({ at: new Date().toISOString(), signal, seconds })
    notify(`broker away by ${signal}`)
    await bridges.stopBroker(signal, BROKER_AWAY_MS)
  }

  async #playDays(
    market: SoakMarket,
    load: SoakLoad,
    bridges: SoakBridges,
    over: AbortSignal,
  ): Promise<void> {
    while (!over.aborted) {
      const date = await market.playDay(over)
      if (date === null) return
      const untilMs = Date.now() + JUDGE_MS
      let day = await judge(date, market, load, bridges)
      while (!isWhole(day) && Date.now() < untilMs && !over.aborted) {
        await sleep(LOOK_EVERY_MS)
        day = await judge(date, market, load, bridges)
      }
      if (over.aborted && !isWhole(day)) return
      this.#state.days.push(day)
      this.#options.notify(`day ${date}: ${isWhole(day) ? 'whole' : JSON.stringify(day)}`)
      this.#write(load, await placeOf(market))
    }
  }

  #write(load: SoakLoad, place: MarketPlace): void {
    const { store, result, log } = this.#options
    if (log === 'kafka') this.#run.brokerMb = bytesIn(join(store, 'kafka')) / 1024 ** 2
    this.#state.place = place
    this.#run.counts = load.counts
    this.#run.failures = Object.fromEntries(load.failures)
    const wrong = [...load.broken, ...load.record.holes.map((hole) => `pull: ${hole}`)]
    this.#run.broken = [...new Set([...this.#run.broken, ...wrong.slice(0, LISTED)])]
    writeFileSync(join(store, 'state.json'), JSON.stringify(this.#state))
    writeResult(result, this.#state, samplesIn(store))
  }
}

async function placeOf(market: SoakMarket): Promise<MarketPlace> {
  return { marketMs: await market.nowMs(), atMs: Date.now() }
}

/** Compares a day's items with what a reader was given, and asks the bridge what it knows of the day. */
async function judge(
  date: string,
  market: SoakMarket,
  load: SoakLoad,
  bridges: SoakBridges,
): Promise<SoakDay> {
  const [report, truth] = await Promise.all([reportOf(date, bridges), market.truth()])
  const items = truth.items.filter(({ insertedAt }) => insertedAt.startsWith(date))
  const { seen, owed } = load.record
  const unseen = items.filter(({ guid, contentHash }) => !seen.has(`${guid} ${contentHash}`))
  const missing = unseen.filter(({ vanishedAt }) => vanishedAt === null).map(({ guid }) => guid)
  const twice = items.filter(({ guid, contentHash }) => (seen.get(`${guid} ${contentHash}`) ?? 0) > 1)
  return {
    date,
    ...report,
    items: items.length,
    missing: missing.slice(0, LISTED),
    twice: twice.map(({ guid }) => guid).slice(0, LISTED),
    vanished: unseen.length - missing.length,
    undelivered: [...owed].filter((id) => !load.taken.has(id)).length,
    judgedAt: new Date().toISOString(),
  }
}

/** While no node answers, the day is not judged. */
async function reportOf(date: string, bridges: SoakBridges): Promise<Pick<SoakDay, 'walk' | 'gapsLeft'>> {
  try {
    const url = `${bridges.http}/v1/report?days=5`
    const { data } = await readJson<{ data: (SoakDay & { date: string })[] }>(url, { headers: bearer })
    const { walk, gapsLeft } = data.find((day) => day.date === date) ?? { walk: 'unknown', gapsLeft: 0 }
    return { walk, gapsLeft }
  } catch (error) {
    return { walk: `no answer: ${(error as Error).message}`, gapsLeft: 0 }
  }
}
