/** Builds the role `console`: the page in the browser over the API of this process, and the sessions of browsers. */
import { type Console, createConsole, NO_CONSOLE } from '../console/console.ts'
import type { Access } from './access.ts'
import { hasRole, type StartContext } from './context.ts'
import type { Readers } from './readers.ts'

/** Empty for a process without the role. */
export function buildConsole(context: StartContext, access: Access, { rates }: Readers): Console {
  return hasRole(context, 'console') ? createConsole({ ...context, ...access, rates }) : NO_CONSOLE
}
