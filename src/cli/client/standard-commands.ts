/** Makes the commands that every list of the API has: one that prints it, and one that removes an entry by its id. */
import { type CliCommand, command } from '../terminal/command.ts'
import type { Column } from '../terminal/table.ts'
import { harmless } from '../terminal/text.ts'
import { printList, type ResponseFields, requesterOf } from './lists.ts'
import type { RefusalWords } from './refusal.ts'
import { requestFlags, TARGET_HELP } from './target.ts'

/** What both say about themselves. */
interface StandardCommand {
  /** What follows `bridge`, e.g. `tokens list`. */
  name: string
  does: string
  /** The path of the list. */
  path: string
  words: RefusalWords
}

/** Prints the list. `entry`: what a line stands for; `none`: printed on stderr where it is empty. */
export function listCommand({
  name,
  does,
  path,
  words,
  entry,
  columns,
  none,
}: StandardCommand & {
  entry: string
  columns: readonly Column<ResponseFields>[]
  none: string
}): CliCommand {
  const help = `  --json                one line of JSON per ${entry}\n${TARGET_HELP}`
  return command({ name, does, help, flags: requestFlags }, async ({ values }, context) => {
    const { json, ...target } = values
    await printList(requesterOf(target, words, context), path, { json, columns, none }, context)
  })
}

/** Removes the entry with the id. `done`: what it is then, as JSON member and in words; `hint` follows those. */
export function removeCommand({
  name,
  does,
  path,
  words,
  done,
  hint,
}: StandardCommand & { done: string; hint: string }): CliCommand {
  const help = `  --json                {"id":…,"${done}":true} on stdout\n${TARGET_HELP}`
  return command(
    { name, words: ['ID'], does, help, flags: requestFlags },
    async ({ values, words: [id = ''] }, context) => {
      const send = requesterOf(values, words, context)
      await send({ method: 'DELETE', path: `${path}/${encodeURIComponent(id)}` })
      if (values.json === true) context.stdout(JSON.stringify({ id, [done]: true }))
      context.stderr(`${done} ${harmless(id)}. ${hint}`)
    },
  )
}
