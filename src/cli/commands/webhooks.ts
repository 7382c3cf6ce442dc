/**
 * `bridge webhooks`: the endpoints of a running bridge. Owns its verbs and flags, and what goes to stdout and stderr: a new
 * secret is data, everything said about it is not. Refuses to judge what is asked for: the bridge does, and its words are
 * passed on.
 */
import { BridgeError } from '../../errors.ts'
import { askerFlags, askerOf, chosenVerb, entriesOf } from '../client/asker.ts'
import {
  ENDPOINTS_PATH,
  endpointWords,
  type Fields,
  fieldsOf,
  readOne,
  textOf,
} from '../client/endpoint-asker.ts'
import { endpointBody, endpointFlags } from '../client/endpoint-flags.ts'
import { FILTER_HELP } from '../client/filter-flags.ts'
import { asksForHelp, readFlags, readFlagsAndWords } from '../terminal/arguments.ts'
import type { CommandContext } from '../terminal/context.ts'
import { harmless } from '../terminal/text.ts'
import { listAttempts, listDeliveries, WEBHOOK_LISTS_HELP } from './webhook-lists.ts'
import { replayEvents, testEndpoint } from './webhook-recovery.ts'

const HELP = `bridge webhooks: webhook endpoints of a running bridge (docs/use/webhooks.md)

  bridge webhooks add URL      makes one: its secret on stdout, this once
  bridge webhooks list         those of your tenant; with BRIDGE_ADMIN_TOKEN those of all
  bridge webhooks show ID      one, member by member
  bridge webhooks attempts ID  what was tried in the last week, the newest first
  bridge webhooks deliveries ID  how each delivery of it stands
  bridge webhooks rotate ID    gives it a new secret, on stdout; the old one signs beside it for a day
  bridge webhooks enable ID    makes it active again, from where it stopped
  bridge webhooks disable ID   nothing is sent to it until it is enabled
  bridge webhooks delete ID    ends it, and what waits for it
  bridge webhooks test ID      sends one test event, and says what came of it
  bridge webhooks replay ID    sends events once more: its id on stdout
  bridge webhooks rewrap       puts secrets under BRIDGE_SECRET_KEY that lie under the old key

For add, what to send; fields and values of docs/use/filters.md, lists comma-separated or repeated:
${FILTER_HELP}
and how:
  --description TEXT    what it is for
  --header 'NAME: TEXT' sent besides with every delivery; may be repeated
  --max-concurrency N   most deliveries at a time, 1 to 64
  --rate-limit N        most deliveries a second
  --order issuer        the events of one issuer one after the other
  --since CURSOR|TIME   where to begin; default: now

For replay, one of the first three:
  --after CURSOR        what follows it
  --since TIME          from that time on
  --ids ID,ID           these disclosures alone
  --until CURSOR|TIME   up to there; default: now
  --dead                only deliveries that were given up
  --dry-run             counts, and begins nothing

${WEBHOOK_LISTS_HELP}

For all:
  --json                the answer as JSON on stdout, one entry of a list a line
  --url URL             address of the bridge; default: BRIDGE_HTTP_HOST and BRIDGE_HTTP_PORT
  --token TOKEN         default BRIDGE_ADMIN_TOKEN, which other users of this machine cannot see

  bridge webhooks add https://hooks.example/in --symbols VOD,BP. --types published,gap > desk.secret`

const verbs = {
  add,
  list,
  show,
  attempts: listAttempts,
  deliveries: listDeliveries,
  rotate,
  enable: (args: string[], context: CommandContext) => set('enable', args, context),
  disable: (args: string[], context: CommandContext) => set('disable', args, context),
  delete: remove,
  test: testEndpoint,
  replay: replayEvents,
  rewrap,
} as const

/** Does what the verb says. */
export async function webhooksCommand(args: string[], context: CommandContext): Promise<void> {
  if (asksForHelp(args)) {
    context.stdout(HELP)
    return
  }
  const [verb, ...rest] = args
  await chosenVerb('webhooks', verb, verbs)(rest, context)
}

async function add(args: string[], context: CommandContext): Promise<void> {
  const { values, words: given } = readFlagsAndWords('webhooks', args, { ...endpointFlags, ...askerFlags }, [
    'URL',
  ])
  const body = { url: given[0], ...endpointBody(values) }
  const answer = await askerOf(values, endpointWords, context)({ method: 'POST', path: ENDPOINTS_PATH, body })
  const made = fieldsOf(answer)
  context.stdout(values.json === true ? JSON.stringify(answer) : textOf(made.secret))
  context.stderr(`made ${textOf(made.id)} of the tenant ${textOf(made.tenant)} for ${textOf(made.url)}`)
  context.stderr('its secret is shown this once; bridge webhooks rotate gives another')
}

async function list(args: string[], context: CommandContext): Promise<void> {
  const flags = readFlags('webhooks', args, askerFlags)
  let count = 0
  for await (const endpoint of entriesOf(askerOf(flags, endpointWords, context), ENDPOINTS_PATH, context)) {
    context.stdout(flags.json === true ? JSON.stringify(endpoint) : lineOf(fieldsOf(endpoint)))
    count += 1
  }
  if (count === 0) context.stderr('there is no endpoint yet')
}

async function show(args: string[], context: CommandContext): Promise<void> {
  const { json, path, ask } = readOne(args, context)
  const answer = await ask({ method: 'GET', path })
  if (json) {
    context.stdout(JSON.stringify(answer))
    return
  }
  for (const [name, value] of Object.entries(fieldsOf(answer))) {
    context.stdout(`${harmless(name).padEnd(16)}${value === null ? '–' : textOf(value)}`)
  }
}

async function rotate(args: string[], context: CommandContext): Promise<void> {
  const { json, path, ask } = readOne(args, context)
  const answer = await ask({ method: 'POST', path: `${path}/rotate` })
  const { id, secret } = fieldsOf(answer)
  context.stdout(json ? JSON.stringify(answer) : textOf(secret))
  context.stderr(`${textOf(id)} has a new secret, shown this once; the old one signs beside it for 24 hours`)
}

async function set(action: 'enable' | 'disable', args: string[], context: CommandContext): Promise<void> {
  const { json, path, ask } = readOne(args, context)
  const answer = await ask({ method: 'POST', path: `${path}/${action}` })
  const { id, status } = fieldsOf(answer)
  if (json) context.stdout(JSON.stringify(answer))
  context.stderr(`${textOf(id)} is ${textOf(status)}`)
}

async function remove(args: string[], context: CommandContext): Promise<void> {
  const { path, ask, id } = readOne(args, context)
  await ask({ method: 'DELETE', path })
  context.stderr(`deleted ${harmless(id)}`)
}

/** One request does a part; it is asked again until nothing is left. */
async function rewrap(args: string[], context: CommandContext): Promise<void> {
  const flags = readFlags('webhooks', args, askerFlags)
  const ask = askerOf(flags, endpointWords, context)
  let count = 0
  let part: { rewrapped: number; left: number; unreadable: string[] }
  do {
    part = partOf(await ask({ method: 'POST', path: `${ENDPOINTS_PATH}/rewrap` }))
    count += part.rewrapped
  } while (part.left > 0 && part.rewrapped > 0 && !context.signal.aborted)
  const { left, unreadable } = part
  if (flags.json === true) context.stdout(JSON.stringify({ rewrapped: count, left, unreadable }))
  context.stderr(`rewrapped ${count} endpoints`)
  if (left > 0) {
    throw new BridgeError('failed', `${left} endpoints still lie under the old key`, {
      hint: 'Run it again, and look into the log of the bridge.',
    })
  }
  if (unreadable.length === 0) return
  throw new BridgeError('failed', `no key of this bridge opens the secrets of ${unreadable.join(', ')}`, {
    hint: 'Give the bridge the key that they were made with as BRIDGE_SECRET_KEY_OLD, or rotate or delete them.',
  })
}

function partOf(answer: unknown): { rewrapped: number; left: number; unreadable: string[] } {
  const { rewrapped, left, unreadable } = fieldsOf(answer)
  return {
    rewrapped: Number(rewrapped ?? 0),
    left: Number(left ?? 0),
    unreadable: (Array.isArray(unreadable) ? unreadable : []).map(textOf),
  }
}

function lineOf({ id, tenant, status, disabledReason, url, description }: Fields): string {
  const state = disabledReason === null ? textOf(status) : `${textOf(status)} (${textOf(disabledReason)})`
  const parts = [textOf(id), textOf(tenant).padEnd(12), state.padEnd(8), textOf(url)]
  return (description === null ? parts : [...parts, textOf(description)]).join('  ')
}
