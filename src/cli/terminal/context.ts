/** What every command gets from the process it runs in. Owns only this shape. */
import type { Chance, Clock } from '../../lifecycle/clock.ts'

export interface CommandContext {
  env: Record<string, string | undefined>
  /** Writes one line of data. */
  stdout: (line: string) => void
  /** Writes one line for a person. */
  stderr: (line: string) => void
  clock: Clock
  chance: Chance
  /** Whether lines of data may be coloured. */
  colour: boolean
  /** Aborts when the process is asked to stop. */
  signal: AbortSignal
  /** Aborts when nobody reads the output any more, as behind `| head`. */
  outputGone: AbortSignal
}
