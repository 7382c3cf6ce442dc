/**
 * Reads the flags and the endpoint id of the `bridge webhooks` subcommands, and defines the messages to show when the
 * bridge refuses a request.
 */
import { ENDPOINTS_PATH } from '../../core/endpoint-status.ts'
import { readFlagsAndWords } from '../terminal/arguments.ts'
import type { CommandContext } from '../terminal/context.ts'
import { endpointFlags } from './endpoint-flags.ts'
import type { RefusalWords } from './refusal.ts'
import { requestFlags, type TargetFlags } from './target.ts'
import { requesterOf } from './verbs.ts'

/** Texts for refusals. */
export const endpointWords: RefusalWords = {
  help: 'bridge webhooks --help lists the flags; docs/use/webhooks.md explains endpoints.',
  missing: {
    message: 'does not have this endpoint',
    hint: 'bridge webhooks list shows the ids; the bridge must have the role api in BRIDGE_ROLES.',
  },
  cursorFlag: '--since',
  flags: [...Object.keys(endpointFlags), 'after', 'until', 'ids', 'dead', 'outcome', 'state', 'limit'],
}

/**
 * Reads the flags and the ID of a verb about one endpoint.
 * @throws BridgeError as `readFlagsAndWords` and `requesterOf`
 */
export function readOne<const F extends typeof requestFlags>(
  verb: string,
  args: string[],
  context: CommandContext,
  flags: F = requestFlags as F,
  refusals: RefusalWords = endpointWords,
) {
  const { values, words } = readFlagsAndWords(`webhooks ${verb}`, args, flags, ['ID'])
  const { json, ...target } = values as { json?: boolean } & TargetFlags
  const id = words[0] ?? ''
  return {
    values,
    id,
    json: json === true,
    path: `${ENDPOINTS_PATH}/${encodeURIComponent(id)}`,
    send: requesterOf(target, refusals, context),
  }
}
