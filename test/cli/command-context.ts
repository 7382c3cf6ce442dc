/** Simulates the process around a command under test: records its output, and can stop it. */
import type { CommandContext } from '../../src/cli/terminal/context.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'

export interface TestContext {
  context: CommandContext
  stdout: string[]
  stderr: string[]
  stop(): void
  /** Simulates a closed pipe. */
  closeOutput(): void
}

/** A context on the machine's clock; chance is always 0, so retries have no delay. */
export function testContext(env: Record<string, string> = {}): TestContext {
  const stop = new AbortController()
  const gone = new AbortController()
  const stdout: string[] = []
  const stderr: string[] = []
  return {
    stdout,
    stderr,
    stop: () => stop.abort(),
    closeOutput: () => gone.abort(),
    context: {
      env,
      stdout: (line) => void stdout.push(line),
      stderr: (line) => void stderr.push(line),
      clock: systemClock,
      chance: () => 0,
      colour: false,
      terminal: null,
      signal: stop.signal,
      outputGone: gone.signal,
    },
  }
}
