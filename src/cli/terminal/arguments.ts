/**
 * Reading of command-line arguments that every command shares: flags with near matches, numbers, a plea for help.
 * Refuses to know any command.
 */
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { didYouMean } from '../../core/near.ts'
import { BridgeError, messageOf } from '../../errors.ts'

type Flags = NonNullable<ParseArgsConfig['options']>

/** True where the arguments ask what the command does instead of asking it to do it. */
export function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h')
}

/**
 * Refuses every argument of a command that takes none.
 * @throws BridgeError `usage`
 */
export function takeNoArguments(command: string, args: string[]): void {
  const [first] = args
  if (first === undefined) return
  throw new BridgeError('usage', `bridge ${command} takes no arguments, got "${first}"`, {
    hint: 'Settings come from the environment: docs/configuration.md',
  })
}

/**
 * The values of a command's flags.
 * @throws BridgeError `usage` for an unknown flag, with the near match, a missing value or a stray argument
 */
export function readFlags<const F extends Flags>(command: string, args: string[], flags: F) {
  return readFlagsAndWords(command, args, flags, []).values
}

/**
 * The values of a command's flags, and its words: exactly those that are named.
 * @throws BridgeError `usage` as `readFlags`, and for a word that is missing
 */
export function readFlagsAndWords<const F extends Flags>(
  command: string,
  args: string[],
  flags: F,
  names: readonly string[],
) {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: flags,
      allowPositionals: names.length > 0,
      strict: true,
    })
    if (positionals.length !== names.length) {
      throw new Error(`it takes ${names.join(' ')}, got ${positionals.length} words`)
    }
    return { values, words: positionals }
  } catch (error) {
    const unknown = args.find((arg) => arg.startsWith('--') && !Object.hasOwn(flags, nameOf(arg)))
    const near = unknown === undefined ? '' : didYouMean(nameOf(unknown), Object.keys(flags))
    const message = unknown === undefined ? messageOf(error) : `there is no flag --${nameOf(unknown)}${near}`
    throw new BridgeError('usage', message, { hint: `bridge ${command} --help lists the flags.` })
  }
}

function nameOf(arg: string): string {
  return arg.slice(2).split('=')[0] ?? ''
}
