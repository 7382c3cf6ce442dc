/**
 * Creates documented Prometheus counters, gauges and histograms. Each label has a closed list of values, and every
 * combination is registered at zero.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { Exemplars } from './exemplars.ts'
import type { TraceContext } from './trace-context.ts'

/** Label values of one measurement: one of each closed set. */
type Labels<S extends LabelSets> = { [name in keyof S]: S[name][number] }

/** Every value that each label can have. */
export type LabelSets = Readonly<Record<string, readonly string[]>>

/** Documentation of a metric. */
export interface MetricDoc {
  name: string
  type: 'counter' | 'gauge' | 'histogram'
  help: string
  labels: LabelSets
}

/** Creates metrics on one registry. Names are given without the prefix `bridge_`. */
export type Instruments = ReturnType<typeof createInstruments>

/** An empty set of instruments on a registry of its own. */
export function createInstruments() {
  const registry = new Registry()
  const docs: MetricDoc[] = []
  const exemplars = new Exemplars()
  const configure = (type: MetricDoc['type'], name: string, help: string, labels: LabelSets) => {
    docs.push({ name: `bridge_${name}`, type, help, labels })
    return { name: `bridge_${name}`, help, labelNames: Object.keys(labels), registers: [registry] }
  }
  return {
    registry,
    docs,
    exemplars,
    counter<const S extends LabelSets>(name: string, help: string, labels: S) {
      const metric = new Counter(configure('counter', name, help, labels))
      for (const combination of combinations(labels)) metric.inc(combination, 0)
      /** Adds `amount` (1 where it is left out). */
      return { add: (given: Labels<S>, amount = 1): void => metric.inc({ ...given }, amount) }
    },
    gauge<const S extends LabelSets>(name: string, help: string, labels: S) {
      const metric = new Gauge(configure('gauge', name, help, labels))
      for (const combination of combinations(labels)) metric.set(combination, 0)
      return {
        set: (given: Labels<S>, value: number): void => metric.set({ ...given }, value),
        /** Adds the amount, which may be negative. */
        add: (given: Labels<S>, amount: number): void => metric.inc({ ...given }, amount),
      }
    },
    /** A gauge whose series exists only while its value is known: from the first `set` on, until null is set. */
    knownGauge(name: string, help: string) {
      const metric = new Gauge(configure('gauge', name, help, {}))
      metric.remove()
      return { set: (value: number | null): void => (value === null ? metric.remove() : metric.set(value)) }
    },
    /** A counter and a histogram of what happens to each route. `addRoute` registers the series of one at zero. */
    byRoute<const S extends LabelSets>(
      counter: { name: string; help: string; labels: S },
      histogram: { name: string; help: string; buckets: readonly number[] },
    ) {
      const counted = configure('counter', counter.name, counter.help, { ...ROUTE, ...counter.labels })
      const total = new Counter(counted)
      const timed = configure('histogram', histogram.name, histogram.help, ROUTE)
      const seconds = new Histogram({ ...timed, buckets: [...histogram.buckets] })
      return {
        addRoute(route: string): void {
          for (const combination of combinations(counter.labels)) total.inc({ route, ...combination }, 0)
          seconds.zero({ route })
        },
        observe(route: string, given: Labels<S>, duration: number): void {
          total.inc({ route, ...given })
          seconds.observe({ route }, duration)
        },
      }
    },
    /** As `knownGauge`, with labels: each series exists only while its value is known. */
    knownGauges<const S extends LabelSets>(name: string, help: string, labels: S) {
      const metric = new Gauge(configure('gauge', name, help, labels))
      return {
        set: (given: Labels<S>, value: number | null): void =>
          value === null ? metric.remove({ ...given }) : metric.set({ ...given }, value),
      }
    },
    histogram<const S extends LabelSets>(name: string, help: string, labels: S, buckets: readonly number[]) {
      const metric = new Histogram({ ...configure('histogram', name, help, labels), buckets: [...buckets] })
      for (const combination of combinations(labels)) metric.zero(combination)
      return { observe: (given: Labels<S>, seconds: number): void => metric.observe({ ...given }, seconds) }
    },
    /** A histogram without labels that keeps the traces of what it observes as exemplars. */
    tracedHistogram(name: string, help: string, buckets: readonly number[]) {
      const described = configure('histogram', name, help, {})
      const metric = new Histogram({ ...described, buckets: [...buckets] })
      return {
        /** `trace` null: what was observed has none. */
        observe(seconds: number, trace: TraceContext | null): void {
          metric.observe(seconds)
          if (trace !== null) exemplars.note(described.name, buckets, seconds, trace)
        },
      }
    },
  }
}

/** The label whose values a process adds once it knows them. */
const ROUTE = { route: ['as a process has them, e.g. `GET /v1/status`'] } as const

/** Every combination of label values; one empty combination where there are no labels. */
function combinations(labels: LabelSets): Record<string, string>[] {
  let all: Record<string, string>[] = [{}]
  for (const [name, values] of Object.entries(labels)) {
    all = all.flatMap((partial) => values.map((value) => ({ ...partial, [name]: value })))
  }
  return all
}
