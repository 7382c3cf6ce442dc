/**
 * Keeps exemplars: for each bucket of a histogram the trace that was observed last in it. Writes the metrics in the format
 * OpenMetrics, which has a place for them.
 */
import type { TraceContext } from './trace-context.ts'

/** The content type of `openMetricsText`. */
export const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

const COUNTER = /^# TYPE (\S+)_total counter$/
/** The series of a bucket and its value. */
const BUCKET = /^([^#\s]+_bucket\{[^}]*\}) \S+$/

/** Exemplars by the series of their bucket, as the text of the metrics writes it. */
export class Exemplars {
  readonly #bySeries = new Map<string, string>()

  /** Notes that a value was observed in a histogram without labels. */
  note(histogram: string, buckets: readonly number[], value: number, trace: TraceContext): void {
    const bound = buckets.find((upper) => value <= upper)
    const series = `${histogram}_bucket{le="${bound ?? '+Inf'}"}`
    const labels = `{trace_id="${trace.traceId}",span_id="${trace.spanId}"}`
    this.#bySeries.set(series, `${labels} ${value}`)
  }

  /** The exemplar of a series as OpenMetrics writes it; undefined where there is none. */
  of(series: string): string | undefined {
    return this.#bySeries.get(series)
  }
}

/**
 * The metrics as OpenMetrics, from their text in the format of Prometheus: a counter is named without `_total`, nothing stands
 * between metrics, the end is marked, and buckets have their exemplars.
 */
export function openMetricsText(text: string, exemplars: Pick<Exemplars, 'of'>): string {
  const lines = text.split('\n').filter((line) => line !== '')
  const counters = new Set(lines.flatMap((line) => COUNTER.exec(line)?.[1] ?? []))
  const written = lines.map((line) => {
    if (line.startsWith('#')) return withoutTotal(line, counters)
    const exemplar = exemplars.of(BUCKET.exec(line)?.[1] ?? '')
    return exemplar === undefined ? line : `${line} # ${exemplar}`
  })
  return `${written.join('\n')}\n# EOF\n`
}

/** A line of HELP or TYPE with the name of a counter as OpenMetrics wants it. */
function withoutTotal(line: string, counters: ReadonlySet<string>): string {
  const [hash = '', word = '', name = '', ...rest] = line.split(' ')
  const bare = name.replace(/_total$/, '')
  return counters.has(bare) && bare !== name ? [hash, word, bare, ...rest].join(' ') : line
}
