/** Tries the runbooks of the alerts against the faults that they are for, which takes three quarters of an hour. */
import { findRuntime } from '../support/kafka/runtime/find-runtime.ts'
import { startInstallation } from '../support/monitoring/installation.ts'
import { disposedWith } from '../support/monitoring/placed-fault.ts'
import { readRunbooks } from '../support/monitoring/runbooks.ts'
import { kafkaTrials } from '../support/monitoring/trials/kafka-trials.ts'
import { processTrials } from '../support/monitoring/trials/process-trials.ts'
import { type PlayedTrial, playTrials, type RunbookTrial } from '../support/monitoring/trials/trial.ts'
import { upstreamTrials } from '../support/monitoring/trials/upstream-trials.ts'
import { webhookTrials } from '../support/monitoring/trials/webhook-trials.ts'

/** What was tried. */
export interface RunbooksReport {
  kafka: string
  seconds: number
  trials: PlayedTrial[]
  /** Alerts whose runbook no trial of this run was about. */
  untried: string[]
  /** What did not help, as sentences. */
  wrong: string[]
}

/** A Prometheus of its own, which finds nobody. */
const unseen: RunbookTrial = {
  name: 'nobody-found',
  about: 'service discovery finds no bridge at all',
  alerts: { BridgeNoTarget: 60 },
  lasting: ['BridgeNoTarget'],
  overSeconds: 60,
  async start() {
    const installation = await startInstallation({ name: 'nobody-found' })
    return { ...disposedWith(installation), isForgotten: true, break: () => {}, mend: () => {} }
  },
}

/** Each group has a Prometheus of its own, and is played at once. */
export const runbookTrials: readonly (readonly RunbookTrial[])[] = [
  [...upstreamTrials, ...webhookTrials],
  processTrials,
  kafkaTrials,
  [unseen],
]

/**
 * Plays the trials, or those of these names; `notify` gets a line for all that begins or ends.
 * @throws Error where Kafka is missing
 */
export async function runbookRuns(
  only: readonly string[] | null,
  notify: (line: string) => void,
): Promise<RunbooksReport> {
  const found = await findRuntime(process.env)
  if ('missing' in found) throw new Error(found.missing)
  const beganAt = performance.now()
  const elapsed = (): number => Math.round((performance.now() - beganAt) / 1000)
  const trials: PlayedTrial[] = []
  for (const group of runbookTrials) {
    const chosen = group.filter(({ name }) => only?.includes(name) ?? true)
    if (chosen.length === 0) continue
    trials.push(...(await playTrials(chosen, found.runtime, (line) => notify(`${elapsed()} s: ${line}`))))
  }
  const tried = new Set(trials.flatMap(({ runbooks }) => runbooks.map(({ alert }) => alert)))
  const untried = readRunbooks().flatMap(({ alert }) => (tried.has(alert) ? [] : [alert]))
  const wrong = trials.flatMap((one) => one.wrong.map((sentence) => `${one.trial}: ${sentence}`))
  return { kafka: found.runtime.version.number, seconds: elapsed(), trials, untried, wrong }
}
