/**
 * Tries runbooks against the faults that they are for, without the wait of their alerts: as soon as the condition of an alert
 * holds, what its runbook says is done, and after the repair its last query has to return nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { temporaryDirectory } from '../../bridge-process.ts'
import { eventually } from '../../http/api-client.ts'
import type { KafkaRuntime } from '../../kafka/runtime/runtime.ts'
import { type Brokers, type PlacedFault, startAll, targetsOf } from '../placed-fault.ts'
import { type PrometheusProcess, startPrometheus } from '../prometheus-process.ts'
import { type Runbook, readRunbooks } from '../runbooks.ts'
import { shippedRules } from '../shipped.ts'
import { saysSomething, type TriedRunbook, tryOver, tryRunbook } from '../try-runbook.ts'

/** A fault, and the runbooks that are tried while it lasts. */
export interface RunbookTrial {
  /** Also the name of its installation. */
  name: string
  /** What is done. */
  about: string
  /** The alerts whose runbooks are tried: each with the seconds within which its condition has to hold once it is broken. */
  alerts: Readonly<Record<string, number>>
  /** Those of them whose condition lasts longer than anyone waits here, because its window is of hours. */
  lasting?: readonly string[]
  /** Seconds from the repair until no other condition holds any more. */
  overSeconds: number
  start(kafka: Brokers): Promise<PlacedFault>
}

/** What came of one runbook. */
export interface TrialOfRunbook extends TriedRunbook {
  /** Seconds from the fault until the condition of the alert held; null: it never did. */
  heldAfterSeconds: number | null
  /** Seconds from the repair until it held no more; null: not waited for, or it still held. */
  overAfterSeconds: number | null
}

/** What became of one trial. */
export interface PlayedTrial {
  trial: string
  about: string
  runbooks: TrialOfRunbook[]
  wrong: string[]
}

const HEALTHY_MS = 120_000
/** Longer than the window of any condition that a start can meet. */
const QUIET_MS = 400_000
const LOOK_MS = 500
const SETTLE_MS = 5_000

/** Plays them at the same time, each on an installation of its own. Rejects where one does not start. */
export async function playTrials(
  trials: readonly RunbookTrial[],
  kafka: KafkaRuntime,
  notify: (line: string) => void,
): Promise<PlayedTrial[]> {
  await using made = new AsyncDisposableStack()
  const starts = trials.map((trial) => (brokers: Brokers) => trial.start(brokers))
  const placed = await startAll(made, starts, kafka)
  const directory = made.use(temporaryDirectory())
  const discovered = placed.filter(({ isForgotten }) => isForgotten !== true).flatMap(targetsOf)
  const prometheus = made.use(await startPrometheus(directory.path, shippedRules(), discovered))
  await eventually(
    () => prometheus.query('bridge:target:up == 1'),
    (up) => up.length === discovered.length,
    HEALTHY_MS,
  )
  const plays = placed.map(async (place, index) => {
    const trial = trials[index]
    if (trial === undefined) throw new Error('more installations than trials')
    return playTrial(trial, place, prometheus, notify)
  })
  return await Promise.all(plays)
}

async function playTrial(
  trial: RunbookTrial,
  place: PlacedFault,
  prometheus: PrometheusProcess,
  notify: (line: string) => void,
): Promise<PlayedTrial> {
  const { name, about, alerts, lasting = [], overSeconds } = trial
  const books = readRunbooks().filter(({ alert }) => Object.hasOwn(alerts, alert))
  if (books.length < Object.keys(alerts).length) throw new Error(`${name} names an alert without a runbook`)
  // A process that has just started may have failed requests.
  if (place.isForgotten !== true)
    for (const book of books)
      if ((await tryOver(book, place.installation, prometheus, QUIET_MS)).length > 0)
        throw new Error(`${name}: the condition of ${book.alert} holds before anything is broken`)
  const brokenAt = performance.now()
  notify(`${name} is broken`)
  // What goes on while it is broken, such as the load of a slow process, ends with the repair.
  await place.break()
  const runbooks = await Promise.all(
    books.map(async (book) => {
      const within = alerts[book.alert] ?? 0
      if (!(await comesToHold(book, place, prometheus, within)))
        return { ...unheld(book, within), heldAfterSeconds: null, overAfterSeconds: null }
      const heldAfterSeconds = secondsSince(brokenAt)
      notify(`${name}: ${book.alert} holds after ${heldAfterSeconds} s`)
      // What follows from it is recorded some evaluations later.
      await sleep(SETTLE_MS)
      const tried = await tryRunbook(book, place.installation, prometheus)
      return { ...tried, heldAfterSeconds, overAfterSeconds: null as number | null }
    }),
  )
  await place.mend()
  notify(`${name} is mended after ${secondsSince(brokenAt)} s`)
  const mendedAt = performance.now()
  await Promise.all(
    books.map(async (book, index) => {
      const tried = runbooks[index]
      if (tried === undefined || tried.heldAfterSeconds === null || lasting.includes(book.alert)) return
      const wrong = await tryOver(book, place.installation, prometheus, overSeconds * 1000)
      tried.wrong.push(...wrong)
      if (wrong.length > 0) return
      tried.overAfterSeconds = secondsSince(mendedAt)
      notify(`${name}: ${book.alert} is over ${tried.overAfterSeconds} s after the repair`)
    }),
  )
  const wrong = runbooks.flatMap((one) => one.wrong)
  for (const sentence of wrong) notify(`${name}: ${sentence}`)
  return { trial: name, about, runbooks, wrong }
}

/** Whether it comes to hold. The query that says that an alert is over is its condition. */
async function comesToHold(
  { over }: Runbook,
  { installation }: PlacedFault,
  prometheus: PrometheusProcess,
  withinSeconds: number,
): Promise<boolean> {
  const beganAt = performance.now()
  while (secondsSince(beganAt) <= withinSeconds) {
    if (await saysSomething(over, installation, prometheus)) return true
    await sleep(LOOK_MS)
  }
  return false
}

function unheld({ alert, over }: Runbook, seconds: number): TriedRunbook {
  return { alert, commands: {}, wrong: [`the condition of ${alert} did not hold in ${seconds} s: ${over}`] }
}

function secondsSince(moment: number): number {
  return Math.round((performance.now() - moment) / 1000)
}
