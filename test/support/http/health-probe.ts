/** Asks a health route again and again in a thread of its own, so that the load of a test does not delay the clock. */
import { Worker } from 'node:worker_threads'

export interface HealthProbe {
  /** Ends it. The time of each answer so far, ms, in order; a failed request counts as ten seconds. */
  end(): Promise<number[]>
}

/** Starts it. */
export function probeHealth(url: string): HealthProbe {
  const worker = new Worker(new URL('./health-probe-worker.ts', import.meta.url), { workerData: url })
  return {
    end() {
      const times = new Promise<number[]>((resolve, reject) => {
        worker.once('message', resolve)
        worker.once('error', reject)
      })
      worker.postMessage('end')
      return times
    },
  }
}

/** The time that so many of a hundred stay below. */
export function percentile(times: readonly number[], percent: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
}
