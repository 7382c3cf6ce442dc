/** Reads one figure of a metrics scrape. */
import type { Metrics } from '../../src/obs/metrics.ts'

/** The value of the series written exactly so, without the prefix `bridge_`. */
export async function metric({ metrics }: { metrics: Metrics }, series: string): Promise<number> {
  const line = `bridge_${series} `
  const text = await metrics.scrape()
  const found = text.split('\n').find((candidate) => candidate.startsWith(line))
  return Number(found?.slice(line.length))
}
