/**
 * Builds the verbs of `bridge webhooks` that are about one endpoint, and defines the messages to show when the bridge
 * refuses a request.
 */
import { ENDPOINTS_PATH } from '../../../core/endpoint-status.ts'
import { requesterOf, type SendRequest } from '../../client/lists.ts'
import type { RefusalWords } from '../../client/refusal.ts'
import { requestFlags, TARGET_HELP, type TargetFlags } from '../../client/target.ts'
import type { Flags, Given } from '../../terminal/arguments.ts'
import { type CliCommand, command } from '../../terminal/command.ts'
import type { CommandContext } from '../../terminal/context.ts'
import { endpointFlags } from './body.ts'

/** Texts for refusals. */
export const endpointWords: RefusalWords = {
  help: 'bridge webhooks VERB --help lists the flags of a verb; docs/use/webhooks.md explains endpoints.',
  missing: {
    message: 'does not have this endpoint',
    hint: 'bridge webhooks list shows the ids; the bridge must have the role api in BRIDGE_ROLES.',
  },
  cursorFlag: '--since',
  words: ['URL'],
  flags: [
    ...Object.keys(endpointFlags),
    'after',
    'until',
    'ids',
    'dead',
    'outcome',
    'event',
    'state',
    'limit',
    'type',
  ],
}

/** The same for a verb about one event. */
export const eventWords: RefusalWords = {
  ...endpointWords,
  missing: {
    message: 'does not have this event',
    hint: 'Give the id of an event or its sequence; bridge get shows the event. The log may no longer keep it.',
  },
  words: ['EVENT'],
}

/** The lines of a verb's help about its output and the bridge. */
export const REQUEST_HELP = `  --json                the response as JSON on stdout, one line per entry of a list
${TARGET_HELP}`

/** What a verb about one endpoint says about itself. */
export interface EndpointVerb<F extends Flags> {
  /** Its name without the noun. */
  name: string
  /** Its arguments after the ID. */
  words?: readonly string[]
  does: string
  /** The lines of its help about its own flags. */
  help?: string
  /** Its own flags. */
  flags: F
  /** The flag that takes a cursor, where it is not `--since`. */
  cursorFlag?: string
  /** What is missing where the bridge answers 404; by default the endpoint. */
  missing?: RefusalWords['missing']
}

/** What a verb about one endpoint works with. */
export interface EndpointCall<F extends Flags> {
  values: Given<F & typeof requestFlags>['values']
  id: string
  /** Its arguments after the ID. */
  rest: readonly string[]
  json: boolean
  /** Of the endpoint in the API. */
  path: string
  send: SendRequest
}

interface RequestValues extends TargetFlags {
  json?: boolean | undefined
}

/** How an endpoint is asked for. @throws BridgeError as `requesterOf` */
export function endpointRequest(
  id: string,
  { json, ...target }: RequestValues,
  context: CommandContext,
  refusals: RefusalWords = endpointWords,
): Pick<EndpointCall<Flags>, 'json' | 'path' | 'send'> {
  return {
    json: json === true,
    path: `${ENDPOINTS_PATH}/${encodeURIComponent(id)}`,
    send: requesterOf(target, refusals, context),
  }
}

/** A verb that takes the ID of an endpoint. */
export function endpointVerb<const F extends Flags>(
  { name, words = [], does, help, flags, cursorFlag, missing }: EndpointVerb<F>,
  run: (call: EndpointCall<F>, context: CommandContext) => Promise<void>,
): CliCommand {
  const spec = {
    name: `webhooks ${name}`,
    words: ['ID', ...words],
    does,
    help: help === undefined ? REQUEST_HELP : `${help}\n${REQUEST_HELP}`,
    flags: { ...flags, ...requestFlags },
  }
  return command(spec, async ({ values, words: [id = '', ...rest] }, context) => {
    const refusals = { ...endpointWords, ...(cursorFlag && { cursorFlag }), ...(missing && { missing }) }
    const request = endpointRequest(id, values as RequestValues, context, refusals)
    await run({ values: values as EndpointCall<F>['values'], id, rest, ...request }, context)
  })
}
