/** Plays every fault of `live-faults.ts` with the alert rules and intervals as shipped, which takes twenty minutes. */
import { findRuntime } from '../support/kafka/runtime/find-runtime.ts'
import { liveFaults, type Mode } from '../support/monitoring/live-faults.ts'
import { type PlayedFault, playFaults } from '../support/monitoring/play-faults.ts'

/** What was played. */
export interface AlertsReport {
  mode: Mode
  kafka: string
  seconds: number
  faults: PlayedFault[]
  /** What was not as it should be, as sentences. */
  wrong: string[]
}

/**
 * Plays them, or those of these names; `notify` gets a line for all that begins or ends.
 * @throws Error where Kafka is missing
 */
export async function alertRuns(
  mode: Mode,
  only: readonly string[] | null,
  notify: (line: string) => void,
): Promise<AlertsReport> {
  const found = await findRuntime(process.env)
  if ('missing' in found) throw new Error(found.missing)
  const beganAt = performance.now()
  const elapsed = (): number => Math.round((performance.now() - beganAt) / 1000)
  const faults = liveFaults.filter(({ name }) => only?.includes(name) ?? true)
  const played = await playFaults(faults, mode, found.runtime, (line) => notify(`${elapsed()} s: ${line}`))
  const wrong = played.flatMap((one) => one.wrong.map((sentence) => `${one.fault}: ${sentence}`))
  return { mode, kafka: found.runtime.version.number, seconds: elapsed(), faults: played, wrong }
}
