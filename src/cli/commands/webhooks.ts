/**
 * Runs `bridge webhooks`: creates, lists, tests and deletes webhook endpoints of a running bridge, rotates their
 * secrets, and replays events.
 */
import { ENDPOINTS_PATH } from '../../core/endpoint-status.ts'
import { BridgeError } from '../../errors.ts'
import { endpointBody, endpointFlags } from '../client/endpoint-flags.ts'
import { endpointWords, readOne } from '../client/endpoint-request.ts'
import { FILTER_HELP } from '../client/filter-flags.ts'
import { requestFlags } from '../client/target.ts'
import {
  chosenVerb,
  fieldsOf,
  printableText,
  printList,
  type ResponseFields,
  requesterOf,
} from '../client/verbs.ts'
import { type CliCommand, readFlags, readFlagsAndWords, withHelp } from '../terminal/arguments.ts'
import type { CommandContext } from '../terminal/context.ts'
import { counted, harmless } from '../terminal/text.ts'
import { listAttempts, listDeliveries, WEBHOOK_LISTS_HELP } from './webhook-lists.ts'
import { replayEvents, testEndpoint } from './webhook-recovery.ts'

const HELP = `bridge webhooks: webhook endpoints of a running bridge (docs/use/webhooks.md)

  bridge webhooks add URL      creates one; prints its secret, once
  bridge webhooks list         those of your tenant; of all with BRIDGE_ADMIN_TOKEN
  bridge webhooks show ID      shows one
  bridge webhooks attempts ID  delivery attempts of the last week, newest first
  bridge webhooks deliveries ID  state of each delivery
  bridge webhooks rotate ID    prints a new secret; the old one also signs for a day
  bridge webhooks enable ID    resumes deliveries from where they stopped
  bridge webhooks disable ID   stops deliveries until it is enabled
  bridge webhooks delete ID    deletes it with its pending deliveries
  bridge webhooks test ID      sends one test event and prints the result
  bridge webhooks replay ID    sends events again; prints the id of the replay
  bridge webhooks rewrap       re-encrypts all secrets with BRIDGE_SECRET_KEY

For add, which events; fields and values as in docs/use/filters.md, lists separated by commas or repeated:
${FILTER_HELP}
and:
  --description TEXT    what it is for
  --header 'NAME: TEXT' extra header of every delivery; may be repeated
  --max-concurrency N   most deliveries at once, 1 to 64
  --rate-limit N        most deliveries per second
  --order issuer        delivers the events of one issuer in order
  --since CURSOR|TIME   where to start; default: now

For replay, one of the first three:
  --after CURSOR        events after that one
  --since TIME          events from that time (UTC) on
  --ids ID,ID           only these disclosures
  --until CURSOR|TIME   the last one; default: now
  --dead                only deliveries that were given up
  --dry-run             counts the deliveries and sends none

${WEBHOOK_LISTS_HELP}

For all:
  --json                the response as JSON on stdout, one line per entry of a list
  --url URL             address of the bridge; default: BRIDGE_HTTP_HOST and BRIDGE_HTTP_PORT
  --token-file FILE     file with the token; default: BRIDGE_TOKEN, else BRIDGE_ADMIN_TOKEN
  --profile FILE        file with BRIDGE_URL and BRIDGE_TOKEN, read in place of the environment
  --token TOKEN         the token itself, which other users of this machine can see

  bridge webhooks add https://hooks.example/in --symbols VOD,BP. --types published,gap > desk.secret`

const verbs = {
  add,
  list,
  show,
  attempts: listAttempts,
  deliveries: listDeliveries,
  rotate,
  enable: (args, context) => set('enable', args, context),
  disable: (args, context) => set('disable', args, context),
  delete: remove,
  test: testEndpoint,
  replay: replayEvents,
  rewrap,
} satisfies Record<string, CliCommand>

const CHANGE =
  'The command line cannot change an endpoint yet: send PATCH /v1/webhooks/ID (docs/use/webhooks.md).'
/** Verbs that do not exist, with what to do instead. */
const instead = {
  pause: 'bridge webhooks disable ID stops its deliveries and keeps its place; enable ID resumes them.',
  resume: 'bridge webhooks enable ID resumes its deliveries from where they stopped.',
  update: CHANGE,
  edit: CHANGE,
} as const

/** Runs the verb. */
export const webhooksCommand = withHelp(HELP, async (args, context) => {
  const [verb, ...rest] = args
  await chosenVerb('webhooks', verb, verbs, instead)(rest, context)
})

async function add(args: string[], context: CommandContext): Promise<void> {
  const { values, words: given } = readFlagsAndWords(
    'webhooks add',
    args,
    { ...endpointFlags, ...requestFlags },
    ['URL'],
  )
  const body = { url: given[0], ...endpointBody(values) }
  const send = requesterOf(values, endpointWords, context)
  const answer = await send({ method: 'POST', path: ENDPOINTS_PATH, body })
  const made = fieldsOf(answer)
  context.stdout(values.json === true ? JSON.stringify(answer) : printableText(made.secret))
  context.stderr(
    `created ${printableText(made.id)} of the tenant ${printableText(made.tenant)} for ${printableText(made.url)}`,
  )
  context.stderr('its secret is shown only once; bridge webhooks rotate creates another')
}

async function list(args: string[], context: CommandContext): Promise<void> {
  const flags = readFlags('webhooks list', args, requestFlags)
  const send = requesterOf(flags, endpointWords, context)
  await printList(send, ENDPOINTS_PATH, { json: flags.json, line: lineOf, none: 'no endpoints yet' }, context)
}

async function show(args: string[], context: CommandContext): Promise<void> {
  const { json, path, send } = readOne('show', args, context)
  const answer = await send({ method: 'GET', path })
  if (json) {
    context.stdout(JSON.stringify(answer))
    return
  }
  for (const [name, value] of Object.entries(fieldsOf(answer))) {
    context.stdout(`${harmless(name).padEnd(16)}${printableText(value) || '–'}`)
  }
}

async function rotate(args: string[], context: CommandContext): Promise<void> {
  const { json, path, send } = readOne('rotate', args, context)
  const answer = await send({ method: 'POST', path: `${path}/rotate` })
  const { id, secret } = fieldsOf(answer)
  context.stdout(json ? JSON.stringify(answer) : printableText(secret))
  context.stderr(
    `${printableText(id)} has a new secret, shown only once; the old one also signs for 24 hours`,
  )
}

async function set(action: 'enable' | 'disable', args: string[], context: CommandContext): Promise<void> {
  const { json, path, send } = readOne(action, args, context)
  const answer = await send({ method: 'POST', path: `${path}/${action}` })
  const { id, status } = fieldsOf(answer)
  if (json) context.stdout(JSON.stringify(answer))
  context.stderr(`${printableText(id)} is ${printableText(status)}`)
}

async function remove(args: string[], context: CommandContext): Promise<void> {
  const { path, send, id } = readOne('delete', args, context)
  await send({ method: 'DELETE', path })
  context.stderr(`deleted ${harmless(id)}`)
}

/** One request re-encrypts a part; it is repeated until nothing is left. */
async function rewrap(args: string[], context: CommandContext): Promise<void> {
  const flags = readFlags('webhooks rewrap', args, requestFlags)
  const send = requesterOf(flags, endpointWords, context)
  let count = 0
  let part: { rewrapped: number; left: number; unreadable: string[] }
  do {
    part = partOf(await send({ method: 'POST', path: `${ENDPOINTS_PATH}/rewrap` }))
    count += part.rewrapped
  } while (part.left > 0 && part.rewrapped > 0 && !context.signal.aborted)
  const { left, unreadable } = part
  if (flags.json === true) context.stdout(JSON.stringify({ rewrapped: count, left, unreadable }))
  context.stderr(`re-encrypted the secrets of ${counted(count, 'endpoint')}`)
  if (left > 0) {
    throw new BridgeError('failed', `${counted(left, 'endpoint')} still encrypted with the old key`, {
      hint: 'Run it again; if that fails, see the log of the bridge.',
    })
  }
  if (unreadable.length === 0) return
  throw new BridgeError('failed', `no key of this bridge decrypts the secrets of ${unreadable.join(', ')}`, {
    hint: 'Set BRIDGE_SECRET_KEY_OLD to the key that they were encrypted with, or rotate or delete them.',
  })
}

function partOf(answer: unknown): { rewrapped: number; left: number; unreadable: string[] } {
  const { rewrapped, left, unreadable } = fieldsOf(answer)
  return {
    rewrapped: Number(rewrapped ?? 0),
    left: Number(left ?? 0),
    unreadable: (Array.isArray(unreadable) ? unreadable : []).map(printableText),
  }
}

function lineOf({ id, tenant, status, disabledReason, url, description }: ResponseFields): string {
  const reason = disabledReason === null ? '' : ` (${printableText(disabledReason)})`
  return [
    printableText(id),
    printableText(tenant).padEnd(12),
    `${printableText(status)}${reason}`.padEnd(8),
    printableText(url),
    ...(description === null ? [] : [printableText(description)]),
  ].join('  ')
}
