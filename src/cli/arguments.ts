/** Reading of command-line arguments that several commands share. Refuses to know any command. */
import { parseArgs } from 'node:util'
import { BridgeError, messageOf } from '../errors.ts'

/**
 * Refuses every argument of a command that takes none.
 * @throws BridgeError `usage`
 */
export function takeNoArguments(command: string, args: string[]): void {
  try {
    parseArgs({ args, options: {}, allowPositionals: false, strict: true })
  } catch (error) {
    throw new BridgeError('usage', `bridge ${command} takes no arguments: ${messageOf(error)}`, {
      hint: 'Settings come from the environment: docs/configuration.md',
    })
  }
}
