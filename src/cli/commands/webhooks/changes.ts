/**
 * Runs the verbs of `bridge webhooks` that change an endpoint: `update`, `pause`, `resume`, `enable`, `disable` and
 * `delete`.
 */
import { BridgeError } from '../../../errors.ts'
import { fieldsOf, printableText } from '../../client/lists.ts'
import type { Flags } from '../../terminal/arguments.ts'
import type { CliCommand } from '../../terminal/command.ts'
import type { CommandContext } from '../../terminal/context.ts'
import { harmless } from '../../terminal/text.ts'
import { CHANGE_HELP, changeFlags, patchBody } from './body.ts'
import { type EndpointCall, endpointVerb } from './verb.ts'

/** Changes what its flags name, and the URL where one is given. */
export const update = endpointVerb(
  {
    name: 'update',
    words: ['[URL]'],
    does: 'changes its URL, and what the flags name; the rest stays',
    help: `${CHANGE_HELP}
A new --header replaces all headers, a filter the whole filter (--filter '{}': every disclosure);
--description, --header and --rate-limit take none.`,
    flags: changeFlags,
  },
  async (call, context) => {
    const body = { url: call.rest[0], ...patchBody(call.values) }
    if (Object.values(body).every((value) => value === undefined)) {
      throw new BridgeError(
        'usage',
        'bridge webhooks update needs a URL or a flag that says what to change',
        {
          hint: 'bridge webhooks update --help lists the flags.',
        },
      )
    }
    await change(call, body, context)
  },
)

/** Stops deliveries until it is resumed. */
export const pause = endpointVerb(
  { name: 'pause', does: 'stops deliveries and keeps its place', flags: {} },
  (call, context) => change(call, { status: 'paused' }, context),
)

/** Undoes `pause`. */
export const resume = endpointVerb(
  {
    name: 'resume',
    does: 'resumes deliveries from where they stopped, also after it was disabled',
    flags: {},
  },
  (call, context) => change(call, { status: 'active' }, context),
)

/** Resumes deliveries. */
export const enable = action('enable', 'resumes deliveries from where they stopped')
/** Stops deliveries. */
export const disable = action('disable', 'stops deliveries until it is enabled')

/** Deletes it. */
export const remove = endpointVerb(
  { name: 'delete', does: 'deletes it with its pending deliveries', flags: {} },
  async ({ id, json, path, send }, { stdout, stderr }) => {
    await send({ method: 'DELETE', path })
    if (json) stdout(JSON.stringify({ id, deleted: true }))
    stderr(`deleted ${harmless(id)}`)
  },
)

function action(name: 'enable' | 'disable', does: string): CliCommand {
  return endpointVerb({ name, does, flags: {} }, async ({ json, path, send }, context) => {
    reportStatus(await send({ method: 'POST', path: `${path}/${name}` }), json, context)
  })
}

async function change(
  { path, send, json }: Pick<EndpointCall<Flags>, 'path' | 'send' | 'json'>,
  body: object,
  context: CommandContext,
): Promise<void> {
  reportStatus(await send({ method: 'PATCH', path, body }), json, context)
}

function reportStatus(answer: unknown, json: boolean, { stdout, stderr }: CommandContext): void {
  const { id, status } = fieldsOf(answer)
  if (json) stdout(JSON.stringify(answer))
  stderr(`${printableText(id)} is ${printableText(status)}`)
}
