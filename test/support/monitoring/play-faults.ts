/**
 * Plays faults at the same time, each on an installation of its own, under one real Prometheus with the shipped rules, and
 * notes when which alert fired and ended.
 *
 * - `real`: the rules and the intervals as shipped, and each fault for as long as its description says.
 * - `quick`: scraped every 2 s and evaluated every second; waits over a minute are cut, to a tenth for pages and a fifth for
 *   tickets, but not below a minute. Expressions, windows and thresholds stay. Other tests run beside it, so that alerts
 *   about a machine that is too slow may be right: they do not count there.
 */
import { temporaryDirectory } from '../bridge-process.ts'
import { eventually } from '../http/api-client.ts'
import type { KafkaRuntime } from '../kafka/runtime/runtime.ts'
import { type AlertWatch, watchAlerts } from './alert-watch.ts'
import type { LiveFault, Mode } from './live-faults.ts'
import { type PlacedFault, startAll, targetsOf } from './placed-fault.ts'
import { type PrometheusProcess, QUICK_PACE, startPrometheus } from './prometheus-process.ts'
import { alertsOf, quickRules } from './quick-rules.ts'
import { readRunbooks } from './runbooks.ts'
import { shippedRules } from './shipped.ts'
import { type TriedRunbook, tryOver, tryRunbook } from './try-runbook.ts'

/** An alert of one fault. */
export interface FiredAlert {
  alert: string
  severity: string
  /** Seconds from when the fault began until it was seen firing; null: never. */
  afterSeconds: number | null
  /** At most this many were expected; null: it did not have to fire. */
  atMostSeconds: number | null
}

/** What became of one fault. */
export interface PlayedFault {
  fault: string
  about: string
  /** Those that fired and those that should have. */
  alerts: FiredAlert[]
  brokenSeconds: number
  /** From when it was mended until no alert of it fired; null where that was not waited for. */
  endedSeconds: number | null
  /** What came of the runbooks of its alerts. */
  runbooks: TriedRunbook[]
  /** What was not as it should be, as sentences. */
  wrong: string[]
}

const SHIPPED_PACE = { scrape: '10s', evaluation: '10s' }
/** What a machine that runs other tests may take longer; in real time two scrapes and evaluations. */
const SLACK_SECONDS = { quick: 45, real: 40 }
const HEALTHY_MS = 120_000

/** What a machine fires that is too slow. */
const OF_SPEED: ReadonlySet<string> = new Set([
  'BridgeEventLoopHeld',
  'BridgeCommitSlow',
  'BridgePublishSlow',
  'BridgeStreamsSlow',
  'BridgeBudgetBurns',
])

/** Waits of at most a minute stay: a takeover or a restart takes as long in a test as anywhere. */
function quickWait(seconds: number, severity: string): number {
  return seconds <= 60 ? seconds : Math.max(60, seconds / (severity === 'page' ? 10 : 5))
}

/** Plays them to their ends. Rejects where an installation does not start. */
export async function playFaults(
  faults: readonly LiveFault[],
  mode: Mode,
  kafka: KafkaRuntime,
  notify: (line: string) => void = () => {},
): Promise<PlayedFault[]> {
  await using made = new AsyncDisposableStack()
  const directory = made.use(temporaryDirectory())
  const placed = await startAll(
    made,
    faults.map((fault) => (brokers) => fault.start(mode, brokers)),
    kafka,
  )
  const rules = mode === 'quick' ? quickRules(shippedRules(), quickWait) : shippedRules()
  const pace = mode === 'quick' ? QUICK_PACE : SHIPPED_PACE
  const targets = new Map(placed.map((place) => [place, targetsOf(place)]))
  const prometheus = made.use(
    await startPrometheus(directory.path, rules, [...targets.values()].flat(), pace),
  )
  await eventually(
    () => prometheus.query('bridge:leader:sum == 1 and bridge:poll:last_success_timestamp > 0'),
    (sums) => sums.length === faults.length,
    HEALTHY_MS,
  )
  // The rules remember a process that was there for ten seconds.
  await eventually(
    () => prometheus.query('max_over_time(timestamp(bridge_info)[1h:10s])'),
    (infos) => infos.length === [...targets.values()].flat().length,
    HEALTHY_MS,
  )
  const watch = made.use(watchAlerts(prometheus, notify))
  const plays = placed.map(async (place, index) => {
    const fault = faults[index]
    if (fault === undefined) throw new Error('more installations than faults')
    const discover = (isFound: boolean): void => {
      targets.set(place, isFound ? targetsOf(place) : [])
      prometheus.watch([...targets.values()].flat())
    }
    return { fault, ...(await playOne(fault, place, { mode, rules, prometheus, watch, discover, notify })) }
  })
  const played = await Promise.all(plays)
  // What one fault did may show in another only later.
  const fired = await firedIn(prometheus)
  const counting = (name: string): string[] =>
    (fired.get(name) ?? []).filter((alert) => mode === 'real' || !OF_SPEED.has(alert))
  return played.map((one) => judged(one, counting(one.fault.name), alertsOf(rules), watch, mode))
}

interface Stage {
  mode: Mode
  rules: string
  prometheus: PrometheusProcess
  watch: AlertWatch
  discover: (isFound: boolean) => void
  notify: (line: string) => void
}

interface Course {
  brokenAt: number
  brokenSeconds: number
  endedSeconds: number | null
  stillFiring: readonly string[]
  runbooks: TriedRunbook[]
}

/** Breaks it until its alerts fire, or until they should have, then mends it and waits until none fires any more. */
async function playOne(
  fault: LiveFault,
  place: PlacedFault,
  { mode, rules, prometheus, watch, discover, notify }: Stage,
): Promise<Course> {
  const waits = alertsOf(rules)
  const expected = Object.keys(fault.alerts)
  const lasts = fault.lastsSeconds[mode]
  const limit = Math.max(lasts, ...expected.map((alert) => atMostSeconds(fault, alert, waits, mode)))
  const brokenAt = performance.now()
  notify(`${fault.name} is broken`)
  await place.break()
  if (place.isForgotten) discover(false)
  const areFired = (): boolean => expected.every((alert) => watch.firstAt(fault.name, alert) !== null)
  for (let seconds = 0; seconds < limit && !(areFired() && seconds >= lasts); ) {
    await watch.nextLook()
    seconds = secondsSince(brokenAt)
  }
  const followed = readRunbooks().filter(
    ({ alert }) => watch.firing(fault.name).includes(alert) && alert in fault.alerts,
  )
  const runbooks: TriedRunbook[] = []
  for (const one of followed) runbooks.push(await tryRunbook(one, place.installation, prometheus))
  const brokenSeconds = Math.round(secondsSince(brokenAt))
  await place.mend()
  if (place.isForgotten) discover(true)
  notify(`${fault.name} is mended`)
  const counting = (): string[] =>
    watch.firing(fault.name).filter((alert) => mode === 'real' || !OF_SPEED.has(alert))
  const ends = fault.endsSeconds[mode]
  if (ends === null) return { brokenAt, brokenSeconds, endedSeconds: null, stillFiring: [], runbooks }
  const mendedAt = performance.now()
  do await watch.nextLook()
  while (counting().length > 0 && secondsSince(mendedAt) < ends + SLACK_SECONDS[mode])
  const endedSeconds = Math.round(secondsSince(mendedAt))
  const stillFiring = counting()
  if (stillFiring.length === 0)
    for (const [index, one] of followed.entries())
      runbooks[index]?.wrong.push(...(await tryOver(one, place.installation, prometheus)))
  return { brokenAt, brokenSeconds, endedSeconds, stillFiring, runbooks }
}

function judged(
  course: Course & { fault: LiveFault },
  fired: readonly string[],
  rules: ReturnType<typeof alertsOf>,
  watch: AlertWatch,
  mode: Mode,
): PlayedFault {
  const { fault, brokenAt, brokenSeconds, endedSeconds, stillFiring, runbooks } = course
  const names = [...new Set([...Object.keys(fault.alerts), ...fired])]
  const alerts = names.map((alert): FiredAlert => {
    const at = watch.firstAt(fault.name, alert)
    return {
      alert,
      severity: rules.get(alert)?.severity ?? '',
      afterSeconds: at === null ? null : Math.round((at - brokenAt) / 1000),
      atMostSeconds: alert in fault.alerts ? atMostSeconds(fault, alert, rules, mode) : null,
    }
  })
  const wrong = alerts.flatMap(({ alert, afterSeconds, atMostSeconds: most }) => {
    if (fault.reasons?.includes(alert)) return []
    if (most === null) return [`${alert} fired, which nothing of this fault calls for`]
    if (!fired.includes(alert)) return [`${alert} did not fire`]
    return afterSeconds !== null && afterSeconds > most ? [`${alert} fired after ${afterSeconds} s`] : []
  })
  for (const alert of stillFiring) wrong.push(`${alert} fired ${endedSeconds} s after the end`)
  wrong.push(...runbooks.flatMap((one) => one.wrong))
  return { fault: fault.name, about: fault.about, alerts, brokenSeconds, endedSeconds, runbooks, wrong }
}

/** Until its condition holds, its wait, and what a machine may take. */
function atMostSeconds(
  fault: LiveFault,
  alert: string,
  rules: ReturnType<typeof alertsOf>,
  mode: Mode,
): number {
  const wait = rules.get(alert)?.waitSeconds
  if (wait === undefined) throw new Error(`the rules have no ${alert}`)
  return (fault.alerts[alert] ?? 0) + wait + SLACK_SECONDS[mode]
}

/** Every alert that has fired in the whole run, by installation, between two looks too. */
async function firedIn(prometheus: PrometheusProcess): Promise<ReadonlyMap<string, string[]>> {
  const samples = await prometheus.query(
    'group by (alertname, installation) (max_over_time(ALERTS{alertstate="firing"}[2h]))',
  )
  const byInstallation = Map.groupBy(samples, ({ metric }) => metric.installation ?? '')
  return new Map(
    [...byInstallation].map(([name, found]) => [name, found.map(({ metric }) => metric.alertname ?? '')]),
  )
}

function secondsSince(moment: number): number {
  return (performance.now() - moment) / 1000
}
