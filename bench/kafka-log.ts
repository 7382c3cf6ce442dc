/**
 * Measures the Kafka writer against a bare kafkajs transaction of the same records: `npm run bench -- kafka [runs]`.
 * Both use their own broker and run alternately, so that a busy machine affects both.
 */
import type { NewEvent } from '../src/core/event.ts'
import { systemClock } from '../src/lifecycle/clock.ts'
import type { Term, Writer } from '../src/log/events.ts'
import type { Log } from '../src/log/log.ts'
import { groupElections } from '../src/log-kafka/group/leader.ts'
import { type KafkaLogOptions, openKafkaLog } from '../src/log-kafka/log.ts'
import { startCluster } from '../test/support/kafka/cluster.ts'
import { findRuntime } from '../test/support/kafka/runtime/find-runtime.ts'
import { type Figure, formatFigure, quantile } from './figures.ts'
import { type BareProducer, connectBareProducer } from './support/bare-transactions.ts'
import { meanPhases, type Trace, watchRequests } from './support/kafka-requests.ts'
import { syntheticEvents } from './support/synthetic-events.ts'

const RUNS = 5
const ITEMS = 100
const PAIRS = 200
const IN_A_ROW = 1_000
const CLAIMS = 30
const SEEN = 100
/** Before the first run: a broker's first transactions take up to a second. */
const WARM_UP = 50
/** Between spaced transactions, ms: the markers of the one before are written then. */
const PAUSE_MS = 60
/** With `all`, the native topics' eleven codes make twelve topics; the writer's state topic comes on top. */
const NATIVE = 'AA BC CS CU DD DI HO ME RE TU XX'.split(' ')
const BARE = 'bare'

/** What one run has measured. */
interface Run {
  ours: Trace[]
  bare: Trace[]
  oursInARow: Trace[]
  bareInARow: Trace[]
  claimsMs: number[]
  seenMs: number[]
}

/** What a run works with. */
interface Bench {
  log: Log
  term: Term
  bare: BareProducer
  trace: ReturnType<typeof watchRequests>['trace']
  next: (count: number) => NewEvent[]
}

/** Times of commits, claims and visibility, a line each; throws where no Kafka can be run here. */
export async function kafkaLogLines(count = RUNS): Promise<string[]> {
  const found = await findRuntime(process.env)
  if ('missing' in found) throw new Error(found.missing)
  await using cluster = await startCluster({ runtime: found.runtime })
  const { trace } = watchRequests()
  const { signal } = new AbortController()
  const topicsOfBare = openKafkaLog(optionsFor(cluster.brokers, BARE))
  await topicsOfBare.campaign(signal)
  await topicsOfBare.close()
  await using bare = await connectBareProducer(cluster.brokers, BARE, NATIVE)
  const log = openKafkaLog(optionsFor(cluster.brokers, 'bench'))
  try {
    const bench = { log, term: await log.campaign(signal), bare, trace, next: eventSource() }
    const runs: Run[] = []
    for (let run = 0; run < count; run++) runs.push(await measure(bench))
    return [...figuresOf(runs).map(formatFigure), ...phasesOf(runs)]
  } finally {
    await log.close()
  }
}

async function measure({ log, term, bare, trace, next }: Bench): Promise<Run> {
  const { signal } = new AbortController()
  const run: Run = { ours: [], bare: [], oursInARow: [], bareInARow: [], claimsMs: [], seenMs: [] }
  let writer = await log.claim(term, signal)
  for (let n = 0; n < CLAIMS; n++) {
    await writer.commit({ events: next(1) })
    const claim = await trace(async () => {
      writer = await log.claim(term, signal)
    })
    run.claimsMs.push(claim.tookMs)
  }
  for (let n = 0; n < WARM_UP; n++) {
    await writer.commit({ events: next(ITEMS) })
    await bare.prepare(next(ITEMS))()
  }
  for (let n = 0; n < PAIRS; n++) {
    const events = next(ITEMS)
    const writeBare = bare.prepare(events)
    const turns = [
      async () => run.bare.push(await trace(writeBare)),
      async () => run.ours.push(await trace(() => writer.commit({ events }))),
    ]
    for (const turn of n % 2 === 0 ? turns : turns.toReversed()) {
      await pause()
      await turn()
    }
  }
  run.seenMs = await timesToBeSeen(log, writer, next)
  for (let n = 0; n < IN_A_ROW; n++) {
    run.bareInARow.push(await trace(bare.prepare(next(1))))
  }
  for (let n = 0; n < IN_A_ROW; n++) {
    const events = next(1)
    run.oursInARow.push(await trace(() => writer.commit({ events })))
  }
  await writer.release()
  return run
}

/** From the moment a commit has resolved to the moment a replica has its event; 0 if the replica was first. */
async function timesToBeSeen(
  log: Log,
  writer: Writer,
  next: (count: number) => NewEvent[],
): Promise<number[]> {
  const ended = new AbortController()
  const seenAt = new Map<number, number>()
  const following = (async () => {
    for await (const batch of log.follow(writer.sequence, ended.signal)) {
      for (const { sequence } of batch) seenAt.set(sequence, performance.now())
    }
  })()
  const times: number[] = []
  for (let n = 0; n < SEEN; n++) {
    await pause()
    const [event] = await writer.commit({ events: next(1) })
    const committedAt = performance.now()
    while (event !== undefined && !seenAt.has(event.sequence)) await new Promise((go) => setImmediate(go))
    times.push(Math.max(0, (seenAt.get(event?.sequence ?? 0) ?? 0) - committedAt))
  }
  ended.abort()
  await following
  return times
}

function figuresOf(runs: readonly Run[]): Figure[] {
  const took = (traces: readonly Trace[]): number[] => traces.map(({ tookMs }) => tookMs)
  const of = (share: number, values: (run: Run) => readonly number[]): number[] =>
    runs.map((run) => quantile(values(run), share))
  const ms = (name: string, values: number[], more: Partial<Figure> = {}): Figure => ({
    name,
    unit: 'ms',
    values,
    ...more,
  })
  const beside = (values: number[]): Partial<Figure> => ({ baselines: [{ name: 'a bare one', values }] })
  const oursP99 = of(0.99, ({ ours }) => took(ours))
  const bareP99 = of(0.99, ({ bare }) => took(bare))
  const above = oursP99.map((value, run) => value - (bareP99[run] ?? Number.NaN))
  const rowBeside = (share: number): Partial<Figure> =>
    beside(of(share, ({ bareInARow }) => took(bareInARow)))
  return [
    ms(
      'commit of 100 items, 12 topics, p50',
      of(0.5, ({ ours }) => took(ours)),
      beside(of(0.5, ({ bare }) => took(bare))),
    ),
    ms('commit of 100 items, 12 topics, p99', oursP99, beside(bareP99)),
    ms('  p99 above that of the bare one', above, { goal: { atMost: 25 } }),
    ms(
      '1,000 commits back to back, p50',
      of(0.5, ({ oursInARow }) => took(oursInARow)),
      rowBeside(0.5),
    ),
    ms(
      '1,000 commits back to back, p99',
      of(0.99, ({ oursInARow }) => took(oursInARow)),
      { goal: { atMost: 60 }, ...rowBeside(0.99) },
    ),
    ms(
      'claim, p50',
      of(0.5, ({ claimsMs }) => claimsMs),
    ),
    ms(
      'claim, p99',
      of(0.99, ({ claimsMs }) => claimsMs),
    ),
    ms(
      'commit resolved to visible in a replica, p50',
      of(0.5, ({ seenMs }) => seenMs),
    ),
    ms(
      'commit resolved to visible in a replica, p99',
      of(0.99, ({ seenMs }) => seenMs),
      { goal: { atMost: 50 } },
    ),
  ]
}

/** Where the time goes: of all of them, and of the slowest of each hundred. */
function phasesOf(runs: readonly Run[]): string[] {
  const line = (name: string, of: (run: Run) => readonly Trace[]): string[] => {
    const traces = runs.flatMap(of).toSorted((one, other) => one.tookMs - other.tookMs)
    const slowest = traces.slice(-Math.ceil(traces.length / 100))
    return [meanPhases(name, traces), meanPhases('  the slowest hundredth', slowest)]
  }
  return [
    'mean of the phases:',
    ...line('commit of 100 items', ({ ours }) => ours),
    ...line('bare transaction of 100 items', ({ bare }) => bare),
    ...line('commit of 1 item, back to back', ({ oursInARow }) => oursInARow),
    ...line('bare transaction of 1 item, back to back', ({ bareInARow }) => bareInARow),
  ]
}

function optionsFor(brokers: readonly string[], prefix: string): KafkaLogOptions {
  const silent = () => undefined
  return {
    connection: { brokers, clientId: prefix, tls: null, sasl: null },
    topics: { prefix, replication: null, retentionMs: 7 * 86_400_000, allRetentionMs: null },
    knownCodes: { fca: [], native: NATIVE },
    nativeKind: 'Native',
    clock: systemClock,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    openElections: groupElections,
  }
}

/** Events with a native category each and no other, so that the topics are few and known. */
function eventSource(): (count: number) => NewEvent[] {
  const next = syntheticEvents(1)
  return (count) =>
    next(count).map(({ sequence: _, epoch: __, ...event }) => ({
      ...event,
      data: event.data.replaceAll('"kind":"FCA"', '"kind":"RNS"'),
    }))
}

function pause(): Promise<void> {
  return new Promise((go) => setTimeout(go, PAUSE_MS))
}
