/**
 * Runs the long fault-injection tests: `npm run campaign -- --seeds 20` prints what was tried and what was lost, as
 * JSON. Each run is determined by its seed. The exit code is 1 when an event was lost, repeated or out of order.
 * `--scenario morning --fault reset,drip --seed 7` runs one simulated world alone, and `--lines` prints what its
 * poller logged. `--kafka 4,3.9` runs the Kafka fault scripts on those releases instead, `--script` one world of them,
 * and `--lines` prints what the bridges of failed worlds logged; `--weeks 10000` runs weeks of quota spending. `--feed
 * 3` disconnects the readers of the live feed in three runs: `--clients 2000` of them, each `--cuts 20` times.
 * `--webhooks 100` kills bridges that deliver webhooks 100 times, with `--kafka 4` on that release; `--seed` is the
 * first, as it is with `--kafka` alone. `--broken 50` plays fifty seeds of worlds whose upstream breaks our assumptions, on every plan or `--plan`,
 * with `--about clocks` only those whose untrue assumption has that word;
 * `--log embedded,kafka` also on these real logs.
 * `--soak 120 --log embedded --store FOLDER --result FILE` runs two hours at ten times the usual day, or `--log kafka`;
 * the same command with the same folder goes on with it, market and log included. `--step 20` plays a day in a quarter of
 * an hour instead of three quarters.
 * `--mutants` breaks the source in each of the listed ways and checks that the named test fails; `--only` names some.
 * `--alerts real` plays each fault under a real Prometheus with the shipped rules; `quick` shortens their waits.
 * `--runbooks` tries the runbooks of the alerts against the faults that they are for; `--only` names some faults.
 */
import { parseArgs } from 'node:util'
import { seededChance } from '../../src/core/chance.ts'
import { MINUTE_MS, SECOND_MS } from '../../src/core/durations.ts'
import { isGap } from '../../src/core/event.ts'
import { withStopSignal } from '../../src/lifecycle/signals.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import { type FaultKind, faultKinds } from '../../src/sandbox/faults/fault-kinds.ts'
import { findScenario } from '../../src/sandbox/scenario-list.ts'
import { World } from '../support/worlds/ingest-world.ts'
import { playWorld } from '../support/worlds/play-world.ts'
import { casesOf } from '../support/worlds/world-cases.ts'
import { burst } from '../support/worlds/world-upstream.ts'
import { alertRuns } from './alerts.ts'
import { brokenRuns } from './broken-worlds.ts'
import { feedCutRuns } from './feed-cuts.ts'
import { playKafka, playKafkaWorld } from './kafka.ts'
import { killRuns } from './kills.ts'
import { mutants } from './mutants/list.ts'
import { runMutants } from './mutants/run.ts'
import { realLogsOf } from './real-logs.ts'
import { runbookRuns } from './runbooks.ts'
import { soak } from './soak/soak.ts'
import { webhookKillRuns } from './webhook-kills.ts'
import { weekRuns } from './weeks.ts'
import { playAll } from './worlds.ts'

const SEVEN = Date.parse('2026-01-06T07:00:00Z')

interface Tally {
  runs: number
  published: number
  lost: number
  repeated: number
  outOfOrder: number
  gapsOpened: number
  gapsLeft: number
  requests: number
  failed: string[]
}

/** Runs the poller's state machine in simulated time, through failures, lost commit responses and crashes. */
function machineRuns(seeds: number): Tally {
  const tally: Tally = {
    runs: 0,
    published: 0,
    lost: 0,
    repeated: 0,
    outOfOrder: 0,
    gapsOpened: 0,
    gapsLeft: 0,
    requests: 0,
    failed: [],
  }
  for (let seed = 1; seed <= seeds; seed++) {
    const draw = seededChance(seed)
    const options = {
      seed,
      pageSize: draw.pick([20, 50, 100, 200]),
      failures: draw.pick([0, 0.05, 0.3]),
      unknowns: draw.pick([0, 0.05, 0.3]),
      crashes: draw.pick([0, 0.01, 0.05]),
      weeklyQuota: 1_000_000,
      startMs: SEVEN - 20 * SECOND_MS,
      faultsUntilMs: SEVEN + 14 * MINUTE_MS,
      items: [
        ...burst('a', SEVEN + SECOND_MS, 9 * SECOND_MS, 265),
        ...burst('b', SEVEN + 10 * MINUTE_MS + SECOND_MS, 10 * SECOND_MS, 495),
      ],
    }
    const world = new World(options)
    world.run(SEVEN + 75 * MINUTE_MS)
    const events = world.store.events.filter((event) => !isGap(event.type))
    const lost = world.missing().length
    const repeated = world.twice().length
    const outOfOrder = world.store.events.filter((event, index) => event.sequence !== index + 1).length
    tally.runs++
    tally.published += events.length
    tally.lost += lost
    tally.repeated += repeated
    tally.outOfOrder += outOfOrder
    tally.gapsOpened += world.store.events.filter((event) => event.type === 'bridge.gap.opened.v1').length
    tally.gapsLeft += world.openGaps.length
    tally.requests += world.requests.length
    if (lost + repeated + outOfOrder > 0) tally.failed.push(`seed ${seed}`)
  }
  return tally
}

/** Plays one world alone and prints all details. */
async function oneWorld(scenario: string, faults: readonly string[], seed: number, withLines: boolean) {
  findScenario(scenario)
  const unknown = faults.filter((kind) => !faultKinds.some((known) => known === kind))
  if (unknown.length > 0) throw new Error(`no such fault: ${unknown.join(', ')}`)
  const worldCase = { scenario, faults: faults as FaultKind[], seed }
  return playWorld(worldCase, createMetrics({ version: 'campaign' }), (plan, run) => {
    if (!withLines) return
    process.stderr.write(`${JSON.stringify(plan)}\n`)
    for (const { marketMs, event, fields } of run.lines)
      process.stderr.write(`${new Date(marketMs).toISOString()} ${event} ${JSON.stringify(fields)}\n`)
  })
}

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20' },
    kills: { type: 'string', default: '20' },
    workers: { type: 'string', default: '2' },
    /** Releases, by comma. */
    kafka: { type: 'string' },
    /** Only worlds of so many brokers: 1 or 3. */
    nodes: { type: 'string' },
    /** Fault scripts of Kafka, by comma: one world, in that order. */
    script: { type: 'string' },
    scenario: { type: 'string' },
    fault: { type: 'string' },
    seed: { type: 'string', default: '1' },
    lines: { type: 'boolean', default: false },
    /** Skips the state machine and the kills. */
    'worlds-only': { type: 'boolean', default: false },
    /** Runs only this many weeks of quota spending. */
    weeks: { type: 'string' },
    /** Plays only the worlds that break assumptions, of so many seeds. */
    broken: { type: 'string' },
    /** And does to these real logs, by comma, what those worlds did to the simulated one: embedded, kafka. */
    log: { type: 'string', default: 'simulated' },
    /** On this plan only. */
    plan: { type: 'string' },
    /** Tries the mutants of the source. */
    mutants: { type: 'boolean', default: false },
    /** And only the worlds whose untrue assumption has this word. */
    about: { type: 'string' },
    /** Plays the faults that operators hear of: real or quick. */
    alerts: { type: 'string' },
    /** Tries the runbooks of the alerts. */
    runbooks: { type: 'boolean', default: false },
    /** Only these mutants or faults, by comma. */
    only: { type: 'string' },
    /** Runs only this many kills of bridges that deliver webhooks. */
    webhooks: { type: 'string' },
    /** Runs whole bridges for so many minutes at ten times the usual day. */
    soak: { type: 'string' },
    /** Items of its days. */
    daily: { type: 'string', default: '19000' },
    /** Minutes of its market that pass every five seconds outside of the bursts. */
    step: { type: 'string', default: '2' },
    store: { type: 'string' },
    result: { type: 'string' },
    /** Runs only this many runs with disconnected readers. */
    feed: { type: 'string' },
    clients: { type: 'string', default: '2000' },
    cuts: { type: 'string', default: '20' },
    /** Market seconds per second in these runs. */
    speed: { type: 'string', default: '1' },
  },
})
const print = (result: unknown): void => void process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
if (values.mutants) {
  const only = values.only?.split(',')
  const chosen = mutants.filter(({ name }) => only?.includes(name) ?? true)
  const results = await runMutants(chosen, ({ mutant, verdict, seconds }) => {
    process.stderr.write(`${mutant}: ${verdict}, ${seconds} s\n`)
  })
  const survivors = results.filter(({ verdict }) => verdict !== 'killed').map(({ mutant }) => mutant)
  print({ node: process.version, mutants: results.length, survivors, results })
  process.exitCode = survivors.length > 0 || chosen.length === 0 ? 1 : 0
} else if (values.soak !== undefined) {
  const { store, result, log } = values
  if (store === undefined || result === undefined || (log !== 'embedded' && log !== 'kafka'))
    throw new Error('--soak MINUTES needs --log embedded or kafka, --store FOLDER and --result FILE')
  const notify = (line: string): void => void process.stderr.write(`${new Date().toISOString()} ${line}\n`)
  await withStopSignal(async (signal) => {
    const market = { dailyItems: Number(values.daily), stepMinutes: Number(values.step) }
    const isWhole = await soak(
      { log, store, result, minutes: Number(values.soak), ...market, notify },
      signal,
    )
    process.exitCode = isWhole ? 0 : 1
  })
} else if (values.alerts !== undefined) {
  const mode = values.alerts === 'quick' ? 'quick' : 'real'
  const only = values.only?.split(',') ?? null
  const report = await alertRuns(mode, only, (line) => void process.stderr.write(`${line}\n`))
  print({ node: process.version, ...report })
  process.exitCode = report.wrong.length > 0 || report.faults.length === 0 ? 1 : 0
} else if (values.runbooks) {
  const only = values.only?.split(',') ?? null
  const report = await runbookRuns(only, (line) => void process.stderr.write(`${line}\n`))
  print({ node: process.version, ...report })
  process.exitCode = report.wrong.length > 0 || report.trials.length === 0 ? 1 : 0
} else if (values.broken !== undefined) {
  const seeds = Number(values.broken)
  const workers = Number(values.workers)
  const { plan: only, about, kafka = '4' } = values
  const runs = {
    seeds,
    firstSeed: Number(values.seed),
    workers,
    only,
    about,
    logs: realLogsOf(values.log),
    kafka,
  }
  const { logs, plans } = await brokenRuns(runs, (text) => void process.stderr.write(`${text}\n`))
  print({ node: process.version, seeds, logs, ...plans })
  process.exitCode = Object.values(plans).some(({ failed }) => failed.length > 0) ? 1 : 0
} else if (values.webhooks !== undefined) {
  const report = await webhookKillRuns(Number(values.webhooks), {
    version: values.kafka ?? null,
    firstSeed: Number(values.seed),
    notify: (run) => void process.stderr.write(`${JSON.stringify(run)}\n`),
  })
  print({ node: process.version, ...report })
  process.exitCode = report.failed.length > 0 ? 1 : 0
} else if (values.feed !== undefined) {
  const report = await feedCutRuns(Number(values.feed), {
    seed: Number(values.seed),
    readers: Number(values.clients),
    cuts: Number(values.cuts),
    speed: Number(values.speed),
    notify: (run) => void process.stderr.write(`${JSON.stringify(run)}\n`),
  })
  print({ node: process.version, ...report })
  process.exitCode = report.failed.length > 0 ? 1 : 0
} else if (values.script !== undefined) {
  const chaosCase = { scripts: values.script.split(','), seed: Number(values.seed) }
  const look = (lines: string): void => void (values.lines && process.stderr.write(lines))
  const played = await playKafkaWorld(values.kafka ?? '4', chaosCase, look)
  print(played)
  process.exitCode = played.broken.length > 0 ? 1 : 0
} else if (values.kafka !== undefined) {
  const seeds = Number(values.seeds)
  const report = await playKafka({
    versions: values.kafka.split(','),
    seeds,
    firstSeed: Number(values.seed),
    nodes: values.nodes === '1' ? 1 : values.nodes === '3' ? 3 : null,
    workers: Number(values.workers),
    notify({ kafka, nodes, seed, seconds }, failure, lines) {
      const verdict = failure === null ? 'whole' : `${failure.again}\n  ${failure.broken.join('\n  ')}`
      const took = Math.round(Object.values(seconds).reduce((sum, one) => sum + one, 0))
      process.stderr.write(`kafka ${kafka}, ${nodes} nodes, seed ${seed}, ${took} s: ${verdict}\n`)
      if (failure !== null && values.lines) process.stderr.write(lines)
    },
  })
  print({ node: process.version, seeds, kafka: report })
  process.exitCode = report.failures.length > 0 ? 1 : 0
} else if (values.weeks !== undefined) {
  const report = weekRuns(Number(values.weeks))
  print(report)
  process.exitCode = report.failed.length > 0 ? 1 : 0
} else if (values.scenario !== undefined) {
  const faults = values.fault === undefined ? [] : values.fault.split(',')
  const played = await oneWorld(values.scenario, faults, Number(values.seed), values.lines)
  print(played)
  process.exitCode = played.verdict.broken.length > 0 ? 1 : 0
} else {
  const seeds = Number(values.seeds)
  const cases = Array.from({ length: seeds }, (_, index) => casesOf(index + 1)).flat()
  const worlds = await playAll(cases, Number(values.workers), ({ again, broken }) => {
    process.stderr.write(`${again}\n  ${broken.join('\n  ')}\n`)
  })
  const machine = values['worlds-only'] ? null : machineRuns(seeds * 10)
  const kills = values['worlds-only'] ? null : await killRuns(Number(values.kills))
  print({ node: process.version, seeds, worlds, machine, kills })
  const failed = worlds.failures.length + (machine?.failed.length ?? 0) + (kills?.failed.length ?? 0)
  process.exitCode = failed > 0 ? 1 : 0
}
