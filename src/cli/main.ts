/**
 * Runs the command line: loads the chosen command, prints errors, and returns the exit code.
 */
import { didYouMean } from '../core/near.ts'
import { BridgeError, exitCodeFor, messageOf } from '../errors.ts'
import { systemChance, systemClock } from '../lifecycle/clock.ts'
import { withStopSignal } from '../lifecycle/signals.ts'
import { holdHeap, holdYoungGeneration } from '../lifecycle/young-generation.ts'
import { safeJson } from '../obs/safe-json.ts'
import { commands } from './command-table.ts'
import { wantsColour } from './terminal/text.ts'

/** Runs one command. Returns its exit code; never throws. */
export async function main(argv: string[], env: Record<string, string | undefined>): Promise<number> {
  // Lines for a person have none of the characters that `safeJson` escapes; in JSON it keeps the value.
  const stdout = (line: string): void => void process.stdout.write(`${safeJson(line)}\n`)
  const stderr = (line: string): void => void process.stderr.write(`${safeJson(line)}\n`)
  try {
    const [name, ...args] = namedCommand(argv)
    if (name === undefined) {
      throw new BridgeError('usage', 'bridge needs a command', { hint: help() })
    }
    if (name === 'help' || name === '--help' || name === '-h') {
      stdout(help())
      return 0
    }
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (command === undefined) {
      throw new BridgeError(
        'usage',
        `no command "${name}"${didYouMean(name, [...Object.keys(commands), 'help'])}`,
        {
          hint: 'bridge --help lists the commands.',
        },
      )
    }
    if (name === 'demo' || name === 'run') {
      // `run` lets it grow once it has started.
      holdYoungGeneration()
      holdHeap()
    }
    const run = await command.load()
    const context = {
      env,
      stdout,
      stderr,
      clock: systemClock,
      chance: systemChance,
      colour: wantsColour(env, process.stdout.isTTY === true),
      terminal: process.stderr.isTTY === true ? { hasColour: wantsColour(env, true) } : null,
      outputGone: outputGone(),
    }
    await withStopSignal((signal) => run(args, { ...context, signal }))
    return 0
  } catch (error) {
    for (const line of explain(error)) stderr(line)
    return exitCodeFor(error)
  }
}

/** The arguments with the other spellings of `version` and `--help` replaced. */
function namedCommand(argv: readonly string[]): readonly string[] {
  const [first = '', ...rest] = argv
  if (['--version', '-V', '-v'].includes(first)) return ['version', ...rest]
  return first === 'help' && rest.length > 0 ? [...rest, '--help'] : argv
}

/** Aborts when the reader of stdout or stderr closes its end (EPIPE). Some commands stop then; a bridge continues. */
function outputGone(): AbortSignal {
  const gone = new AbortController()
  const onError = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error
    gone.abort()
  }
  process.stdout.on('error', onError)
  process.stderr.on('error', onError)
  return gone.signal
}

function help(): string {
  const names = Object.keys(commands)
  const width = Math.max(...names.map((name) => name.length))
  return [
    'bridge <command>',
    '',
    ...names.map((name) => `  ${name.padEnd(width)}  ${commands[name]?.does}`),
    '',
    'bridge <command> --help explains a command.',
    'Settings come from the environment (BRIDGE_*) and a .env file: docs/configuration.md',
    'Exit codes: 0 done, 1 failed, 2 wrong usage, 3 wrong settings, 4 upstream, 5 Kafka',
  ].join('\n')
}

/** The lines for an error: message, each wrong field, cause, advice. An unexpected error shows its stack. */
function explain(error: unknown): string[] {
  if (!(error instanceof BridgeError))
    return [error instanceof Error ? (error.stack ?? error.message) : messageOf(error)]
  const lines = [`bridge: ${error.message}`]
  for (const { field, message } of error.errors) lines.push(`  ${field} ${message}`)
  if (error.cause !== undefined) lines.push(`  because: ${messageOf(error.cause)}`)
  if (error.hint !== undefined) lines.push(`  ${error.hint}`)
  return lines
}
