/** Defines what every command gets from its process: environment, output, clock, signals. */
import type { Chance, Clock } from '../../lifecycle/clock.ts'

/** Passed to every command. */
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
  /** The terminal that stderr is; null where it is none. */
  terminal: { hasColour: boolean } | null
  /** Aborts when the process is asked to stop. */
  signal: AbortSignal
  /** Aborts when the reader of the output has closed it, as `| head` does. */
  outputGone: AbortSignal
}
