/**
 * Reads the flags and positional arguments of every command. The error for an unknown flag suggests the most similar one.
 */
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { didYouMean } from '../../core/near.ts'
import { type PlanName, planNames } from '../../core/plans.ts'
import { BridgeError, messageOf } from '../../errors.ts'

/** Flags as `parseArgs` takes them. */
export type Flags = NonNullable<ParseArgsConfig['options']>

/** What a command was given: the values of its flags, and its arguments. */
export type Given<F extends Flags> = ReturnType<typeof readFlagsAndWords<F>>

/**
 * The values of a command's flags and its arguments, exactly those named in `names`; one in brackets, such as `[FILE]`, may be
 * absent. `command` is what follows `bridge`, e.g. `webhooks list`.
 * @throws BridgeError `usage` for an unknown flag, with the near match, a missing value, a missing, empty or stray argument
 */
export function readFlagsAndWords<const F extends Flags>(
  command: string,
  args: string[],
  flags: F,
  names: readonly string[],
) {
  const refuse = (message: string): BridgeError =>
    new BridgeError('usage', message, {
      hint: `bridge ${command} --help lists the flags and arguments.`,
    })
  const unknown = args.find((arg) => arg.startsWith('--') && !Object.hasOwn(flags, nameOf(arg)))
  let parsed: ReturnType<
    typeof parseArgs<{ args: string[]; options: F; allowPositionals: true; strict: true }>
  >
  try {
    parsed = parseArgs({ args, options: flags, allowPositionals: true, strict: true })
  } catch (error) {
    if (unknown === undefined) throw refuse(parserWords(error))
    const near = didYouMean(nameOf(unknown), Object.keys(flags))
    throw refuse(`bridge ${command} has no flag --${nameOf(unknown)}${near}`)
  }
  const { values, positionals: words } = parsed
  const missing = names.slice(words.length).filter((name) => !name.startsWith('['))
  if (missing.length > 0)
    throw refuse(`missing argument${missing.length > 1 ? 's' : ''}: ${missing.join(' ')}`)
  const empty = names.find((_, at) => words[at] === '')
  if (empty !== undefined) throw refuse(`the argument ${empty.replace(/[[\]]/g, '')} is empty`)
  if (words.length > names.length) throw refuse(`unexpected argument "${words[names.length]}"`)
  return { values, words }
}

/** The plan that `--plan` names. @throws BridgeError `usage` with the near match */
export function readPlan(text: string | undefined): PlanName | undefined {
  if (text === undefined) return undefined
  const plan = planNames.find((name) => name === text)
  if (plan !== undefined) return plan
  throw new BridgeError('usage', `there is no plan "${text}"${didYouMean(text, planNames)}`, {
    hint: `--plan is one of ${planNames.join(', ')}.`,
  })
}

/** Node's message in one sentence. */
function parserWords(error: unknown): string {
  const [line = ''] = messageOf(error).split('\n')
  const flag = /'(--[\w-]+)' argument is ambiguous/.exec(line)?.[1]
  return flag === undefined
    ? line
    : `${flag} needs a value; one that begins with a dash is written ${flag}=VALUE`
}

function nameOf(arg: string): string {
  return arg.slice(2).split('=')[0] ?? ''
}
