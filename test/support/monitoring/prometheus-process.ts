/** Runs a real Prometheus on alert rules, with targets of the job `bridge` that can be changed while it runs. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { getJson } from '../http/api-client.ts'
import { freePorts } from '../kafka/runtime/ports.ts'
import { runTool } from '../tools.ts'

/** One series of an answer. */
export interface Sample {
  metric: Record<string, string>
  value: number
}

/** How often it scrapes and evaluates, as Prometheus writes durations. A scrape that takes as long as its interval fails. */
export interface Pace {
  scrape: string
  evaluation: string
}

/** Quick enough for tests: four scrapes in a row may fail on a busy machine before the shortest wait of an alert is over. */
export const QUICK_PACE: Pace = { scrape: '2s', evaluation: '1s' }

export interface PrometheusProcess extends AsyncDisposable {
  /**
   * The value of each series that the expression gives, with its labels.
   * @throws Error with Prometheus' words when the expression is wrong
   */
  query(expression: string): Promise<Sample[]>
  /** The labels of every exemplar that it has stored of these series. */
  exemplars(expression: string): Promise<{ series: string; labels: Record<string, string> }[]>
  /** Scrapes these addresses from now on, and no others. */
  watch(targets: readonly string[]): void
}

/** Starts it in that directory, with the text of these rules, on these targets; waits until it answers. */
export async function startPrometheus(
  directory: string,
  rules: string,
  targets: readonly string[],
  pace: Pace = QUICK_PACE,
): Promise<PrometheusProcess> {
  const [port = 0] = await freePorts(1)
  const configuration = join(directory, 'prometheus.yml')
  const discovered = join(directory, 'targets.json')
  const watch = (addresses: readonly string[]): void => {
    // Renamed into place: a file that is half written would be an error of its discovery.
    writeFileSync(`${discovered}.new`, JSON.stringify([{ targets: addresses }]))
    renameSync(`${discovered}.new`, discovered)
  }
  watch(targets)
  writeFileSync(join(directory, 'rules.yml'), rules)
  writeFileSync(
    configuration,
    stringify({
      global: {
        scrape_interval: pace.scrape,
        scrape_timeout: pace.scrape,
        evaluation_interval: pace.evaluation,
      },
      rule_files: ['rules.yml'],
      scrape_configs: [
        { job_name: 'bridge', file_sd_configs: [{ files: [discovered], refresh_interval: '1s' }] },
      ],
    }),
  )
  const stopping = new AbortController()
  const url = `http://127.0.0.1:${port}`
  let hasEnded = false
  const ended = runTool(
    'prometheus',
    [
      `--config.file=${configuration}`,
      `--storage.tsdb.path=${join(directory, 'tsdb')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
    ],
    { signal: stopping.signal },
  ).finally(() => {
    hasEnded = true
  })
  while (!(await isReady(url))) {
    if (hasEnded) throw new Error(`Prometheus ended: ${(await ended).stderr}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return {
    watch,
    async query(expression) {
      const path = `/api/v1/query?query=${encodeURIComponent(expression)}`
      const { data } = await getJson<{
        data: { result: { metric: Record<string, string>; value: [number, string] }[] }
      }>(`${url}${path}`, {})
      return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }))
    },
    async exemplars(expression) {
      const path = `/api/v1/query_exemplars?query=${encodeURIComponent(expression)}`
      const nowS = Date.now() / 1000
      const { data } = await getJson<{
        data: { seriesLabels: { __name__: string }; exemplars: { labels: Record<string, string> }[] }[]
      }>(`${url}${path}&start=${nowS - 600}&end=${nowS + 60}`, {})
      return data.flatMap(({ seriesLabels, exemplars }) =>
        exemplars.map(({ labels }) => ({ series: seriesLabels.__name__, labels })),
      )
    },
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await ended
    },
  }
}

function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/-/ready`).then(
    ({ ok }) => ok,
    () => false,
  )
}
