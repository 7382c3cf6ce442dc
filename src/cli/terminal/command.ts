/**
 * Builds the commands of `bridge`: each reads its flags and arguments, prints its own help, and describes itself for the
 * completion of shells.
 */
import { didYouMean } from '../../core/near.ts'
import { BridgeError } from '../../errors.ts'
import { type Flags, type Given, readFlagsAndWords } from './arguments.ts'
import type { CommandContext } from './context.ts'

/** Runs a command until it is done or the context's signal aborts. Rejects with the fault that ended it. */
export interface CliCommand {
  (args: string[], context: CommandContext): Promise<void>
  /** The first line of its help without its name: arguments and what it does. */
  readonly words: readonly string[]
  readonly does: string
  /** Names of its flags without dashes. */
  readonly flags: readonly string[]
  /** Its verbs; empty for a command without. */
  readonly verbs: Readonly<Record<string, CliCommand>>
}

/** What a command takes and says about itself. */
export interface CommandSpec<F extends Flags> {
  /** What follows `bridge`, e.g. `webhooks list`. */
  name: string
  /** Names of its arguments; one in brackets, such as `[FILE]`, may be absent. */
  words?: readonly string[]
  /** What it does, in the words that follow its name in its help. */
  does: string
  /** The rest of its help: flags and examples. */
  help?: string
  flags: F
}

/** A command with these flags; with `--help` or `-h` among its arguments it prints its help instead. */
export function command<const F extends Flags>(
  { name, words = [], does, help, flags }: CommandSpec<F>,
  run: (given: Given<F>, context: CommandContext) => Promise<void>,
): CliCommand {
  const usage = words.length === 0 ? [] : [`  bridge ${[name, ...words].join(' ')} [flags]`]
  const text = [`bridge ${name}: ${does}`, ...usage, ...(help === undefined ? [] : [help])].join('\n\n')
  const start = async (args: string[], context: CommandContext): Promise<void> => {
    if (asksForHelp(args)) context.stdout(text)
    else await run(readFlagsAndWords(name, args, flags, words), context)
  }
  return Object.assign(start, { words, does, flags: Object.keys(flags), verbs: {} })
}

/** What a noun with verbs says about itself. */
export interface NounSpec {
  /** What follows `bridge`, e.g. `webhooks`. */
  name: string
  does: string
  verbs: Readonly<Record<string, CliCommand>>
  /** What its help says below the verbs. */
  help?: string
  /** What to do for verbs that somebody may expect and that do not exist. */
  instead?: Readonly<Record<string, string>>
}

/** A command that runs one of its verbs. Without a verb, `--help` lists them; with one, it explains that verb. */
export function noun({ name, does, verbs, help, instead = {} }: NounSpec): CliCommand {
  const usages = Object.entries(verbs).map(([verb, { words, does: what }]) => ({
    usage: ['bridge', name, verb, ...words].join(' '),
    what: what.split('\n')[0] ?? '',
  }))
  const width = Math.max(...usages.map(({ usage }) => usage.length))
  const text = [
    `bridge ${name}: ${does}`,
    '',
    ...usages.map(({ usage, what }) => `  ${usage.padEnd(width)}  ${what}`),
    '',
    `bridge ${name} VERB --help explains a verb and its flags.`,
    ...(help === undefined ? [] : ['', help]),
  ].join('\n')
  const start = async (args: string[], context: CommandContext): Promise<void> => {
    const [verb, ...rest] = args
    if (verb === '--help' || verb === '-h') context.stdout(text)
    else await chosenVerb(name, verb, verbs, instead)(rest, context)
  }
  return Object.assign(start, { words: ['VERB'], does, flags: [], verbs })
}

function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h')
}

/** @throws BridgeError `usage` with the near match */
function chosenVerb(
  name: string,
  verb: string | undefined,
  verbs: Readonly<Record<string, CliCommand>>,
  instead: Readonly<Record<string, string>>,
): CliCommand {
  const chosen = verb !== undefined && Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
  if (chosen !== undefined) return chosen
  const names = Object.keys(verbs)
  const advice = verb !== undefined && Object.hasOwn(instead, verb) ? instead[verb] : undefined
  const what =
    verb === undefined
      ? `bridge ${name} needs a verb: ${names.join(', ')}`
      : advice === undefined
        ? `bridge ${name} has no verb "${verb}"${didYouMean(verb, names)}; it has ${names.join(', ')}`
        : `bridge ${name} has no verb "${verb}"`
  throw new BridgeError('usage', what, { hint: advice ?? `bridge ${name} --help explains each verb.` })
}
