/**
 * Runs the command line: loads the chosen command, prints errors, and returns the exit code.
 */
import { setFlagsFromString } from 'node:v8'
import { didYouMean } from '../core/near.ts'
import { VERSION } from '../core/version.ts'
import { BridgeError, exitCodeFor, messageOf } from '../errors.ts'
import { systemChance, systemClock } from '../lifecycle/clock.ts'
import { withStopSignal } from '../lifecycle/signals.ts'
import { safeJson } from '../obs/safe-json.ts'
import type { CliCommand } from './terminal/arguments.ts'
import { wantsColour } from './terminal/text.ts'

/** Each command with one line of the help. */
const commands: Record<string, { does: string; load: () => Promise<CliCommand> }> = {
  run: {
    does: 'run the roles of BRIDGE_ROLES against the configured upstream',
    load: async () => (await import('./commands/run.ts')).runCommand,
  },
  demo: {
    does: 'run a sandbox upstream and all roles in one process; needs no settings',
    load: async () => {
      keepHeapSmall()
      return (await import('./commands/demo.ts')).demoCommand
    },
  },
  sandbox: {
    does: 'run the synthetic upstream; --list shows its scenarios',
    load: async () => (await import('./commands/sandbox.ts')).runSandboxCommand,
  },
  doctor: {
    does: 'check settings, machine, upstream, key and a running bridge, with advice',
    load: async () => (await import('./commands/doctor.ts')).doctorCommand,
  },
  repair: {
    does: 'make the Kafka topics of events and state agree again; asks before it writes',
    load: async () => (await import('./commands/repair.ts')).repairCommand,
  },
  plan: {
    does: 'show the planned polls of a week, with delays and risks; sends nothing',
    load: async () => (await import('./commands/plan.ts')).planCommand,
  },
  report: {
    does: 'show the items of the last days, and whether any are missing',
    load: async () => (await import('./commands/report.ts')).reportCommand,
  },
  backup: {
    does: 'back up the embedded log to a file, also while a bridge runs, and check it',
    load: async () => (await import('./commands/backup.ts')).backupCommand,
  },
  restore: {
    does: 'put a backup back and begin a new epoch, so that every reader is told',
    load: async () => (await import('./commands/restore.ts')).restoreCommand,
  },
  tail: {
    does: 'print the event stream of a running bridge',
    load: async () => (await import('./commands/tail.ts')).tailCommand,
  },
  listen: {
    does: 'post its events to a local URL as signed webhooks',
    load: async () => (await import('./commands/listen.ts')).listenCommand,
  },
  tokens: {
    does: 'create, list and delete API tokens of a running bridge',
    load: async () => (await import('./commands/tokens.ts')).tokensCommand,
  },
  webhooks: {
    does: 'create, list, test, replay and delete webhook endpoints of a running bridge',
    load: async () => (await import('./commands/webhooks.ts')).webhooksCommand,
  },
}

/**
 * Limits the young generation to 2 MB instead of 16, which saves about 15 MB resident in the demo. Must be called before
 * the heap has grown.
 */
function keepHeapSmall(): void {
  setFlagsFromString('--max-semi-space-size=2')
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Runs one command. Returns its exit code; never throws. */
export async function main(argv: string[], env: Record<string, string | undefined>): Promise<number> {
  // Lines for a person have none of the characters that `safeJson` escapes; in JSON it keeps the value.
  const stdout = (line: string): void => void process.stdout.write(`${safeJson(line)}\n`)
  const stderr = (line: string): void => void process.stderr.write(`${safeJson(line)}\n`)
  try {
    const [name, ...args] = argv[0] === 'help' && argv[1] !== undefined ? [argv[1], '--help'] : argv
    if (name === undefined) {
      throw new BridgeError('usage', 'bridge needs a command', { hint: help() })
    }
    if (name === 'help' || name === '--help' || name === '-h') {
      stdout(help())
      return 0
    }
    if (name === '--version' || name === '-V') {
      stdout(VERSION)
      return 0
    }
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (command === undefined) {
      throw new BridgeError('usage', `no command "${name}"${didYouMean(name, Object.keys(commands))}`, {
        hint: 'bridge --help lists the commands.',
      })
    }
    const run = await command.load()
    const context = {
      env,
      stdout,
      stderr,
      clock: systemClock,
      chance: systemChance,
      colour: wantsColour(env, process.stdout.isTTY === true),
      outputGone: outputGone(),
    }
    await withStopSignal((signal) => run(args, { ...context, signal }))
    return 0
  } catch (error) {
    for (const line of explain(error)) stderr(line)
    return exitCodeFor(error)
  }
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
