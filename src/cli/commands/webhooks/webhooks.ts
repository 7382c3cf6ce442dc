/**
 * Runs `bridge webhooks`: creates, lists, tests and deletes webhook endpoints of a running bridge, rotates their
 * secrets, and replays events.
 */
import { ENDPOINTS_PATH } from '../../../core/endpoint-status.ts'
import { BridgeError } from '../../../errors.ts'
import {
  column,
  fieldsOf,
  printableText,
  printList,
  type ResponseFields,
  requesterOf,
  timeColumn,
} from '../../client/lists.ts'
import { requestFlags } from '../../client/target.ts'
import { command, noun } from '../../terminal/command.ts'
import type { Column } from '../../terminal/table.ts'
import { counted, harmless } from '../../terminal/text.ts'
import { CHANGE_HELP, endpointBody, endpointFlags } from './body.ts'
import { disable, enable, pause, remove, resume, update } from './changes.ts'
import { listAttempts, listDeliveries, listReasons, listReplays } from './lists.ts'
import { cancelReplay, replayEvents, testEndpoint } from './recovery.ts'
import { endpointVerb, endpointWords, REQUEST_HELP } from './verb.ts'

const add = command(
  {
    name: 'webhooks add',
    words: ['URL'],
    does: 'creates an endpoint; prints its secret, once',
    help: `${CHANGE_HELP}
  --since CURSOR|TIME   where to start; default: now
${REQUEST_HELP}

  bridge webhooks add https://hooks.example/in --symbols VOD,BP. --types published,gap > desk.secret`,
    flags: { ...endpointFlags, ...requestFlags },
  },
  async ({ values, words: [url] }, context) => {
    const body = { url, ...endpointBody(values) }
    const send = requesterOf(values, endpointWords, context)
    const answer = await send({ method: 'POST', path: ENDPOINTS_PATH, body })
    const made = fieldsOf(answer)
    const id = printableText(made.id)
    context.stdout(values.json === true ? JSON.stringify(answer) : printableText(made.secret))
    context.stderr(`created ${id} of the tenant ${printableText(made.tenant)} for ${printableText(made.url)}`)
    context.stderr('its secret is shown only once; bridge webhooks rotate creates another')
    context.stderr(
      `bridge webhooks test ${id} sends a test, bridge webhooks attempts ${id} shows what came of events`,
    )
  },
)

const columns: readonly Column<ResponseFields>[] = [
  column('ID', 'id', 24),
  column('TENANT', 'tenant', 12),
  {
    title: 'STATUS',
    width: 20,
    cell: statusOf,
    tone: ({ status }) => (status === 'active' ? 'plain' : 'strong'),
  },
  { ...ofHealth(column('PENDING', 'pending', 7)), isNumber: true },
  { ...ofHealth(column('DEAD', 'dead', 5)), isNumber: true },
  ofHealth(timeColumn('LAST SUCCESS', 'lastSuccess')),
  column('URL', 'url', 32),
  column('DESCRIPTION', 'description'),
]

/** A column of the endpoint's `health`. */
function ofHealth({ cell, ...rest }: Column<ResponseFields>): Column<ResponseFields> {
  return { ...rest, cell: ({ health }) => cell(fieldsOf(health)) }
}

function statusOf({ status, disabledReason }: ResponseFields): string {
  const reason = disabledReason === null ? '' : ` (${printableText(disabledReason)})`
  return `${printableText(status)}${reason}`
}

const list = command(
  {
    name: 'webhooks list',
    does: 'those of your tenant; of all with BRIDGE_ADMIN_TOKEN',
    help: REQUEST_HELP,
    flags: requestFlags,
  },
  async ({ values: { json, ...target } }, context) => {
    const send = requesterOf(target, endpointWords, context)
    await printList(send, ENDPOINTS_PATH, { json, columns, none: 'no endpoints yet' }, context)
  },
)

const show = endpointVerb(
  { name: 'show', does: 'shows one, with the health of its deliveries', flags: {} },
  async ({ json, path, send }, { stdout }) => {
    const answer = await send({ method: 'GET', path })
    if (json) {
      stdout(JSON.stringify(answer))
      return
    }
    const { health, ...members } = fieldsOf(answer)
    const rows = [
      ...Object.entries(members),
      ...Object.entries(fieldsOf(health)).map(([name, value]) => [`health.${name}`, value] as const),
    ]
    const width = Math.max(14, ...rows.map(([name]) => name.length)) + 2
    for (const [name, value] of rows) stdout(`${harmless(name).padEnd(width)}${printableText(value) || '–'}`)
  },
)

const rotate = endpointVerb(
  { name: 'rotate', does: 'prints a new secret; the old one also signs for a day', flags: {} },
  async ({ json, path, send }, { stdout, stderr }) => {
    const answer = await send({ method: 'POST', path: `${path}/rotate` })
    const { id, secret } = fieldsOf(answer)
    stdout(json ? JSON.stringify(answer) : printableText(secret))
    stderr(`${printableText(id)} has a new secret, shown only once; the old one also signs for 24 hours`)
  },
)

/** One request re-encrypts a part; it is repeated until nothing is left. */
const rewrap = command(
  {
    name: 'webhooks rewrap',
    does: 're-encrypts all secrets with BRIDGE_SECRET_KEY',
    help: REQUEST_HELP,
    flags: requestFlags,
  },
  async ({ values: { json, ...target } }, context) => {
    const send = requesterOf(target, endpointWords, context)
    let count = 0
    let part: { rewrapped: number; left: number; unreadable: string[] }
    do {
      part = partOf(await send({ method: 'POST', path: `${ENDPOINTS_PATH}/rewrap` }))
      count += part.rewrapped
    } while (part.left > 0 && part.rewrapped > 0 && !context.signal.aborted)
    const { left, unreadable } = part
    if (json === true) context.stdout(JSON.stringify({ rewrapped: count, left, unreadable }))
    context.stderr(`re-encrypted the secrets of ${counted(count, 'endpoint')}`)
    if (left > 0) {
      throw new BridgeError('failed', `${counted(left, 'endpoint')} still encrypted with the old key`, {
        hint: 'Run it again; if that fails, see the log of the bridge.',
      })
    }
    if (unreadable.length === 0) return
    throw new BridgeError(
      'failed',
      `no key of this bridge decrypts the secrets of ${unreadable.join(', ')}`,
      {
        hint: 'Set BRIDGE_SECRET_KEY_OLD to the key that they were encrypted with, or rotate or delete them.',
      },
    )
  },
)

function partOf(answer: unknown): { rewrapped: number; left: number; unreadable: string[] } {
  const { rewrapped, left, unreadable } = fieldsOf(answer)
  return {
    rewrapped: Number(rewrapped ?? 0),
    left: Number(left ?? 0),
    unreadable: (Array.isArray(unreadable) ? unreadable : []).map(printableText),
  }
}

/** Runs the verb. */
export const webhooksCommand = noun({
  name: 'webhooks',
  does: 'webhook endpoints of a running bridge (docs/use/webhooks.md)',
  verbs: {
    add,
    list,
    show,
    update,
    pause,
    resume,
    enable,
    disable,
    delete: remove,
    rotate,
    test: testEndpoint,
    attempts: listAttempts,
    deliveries: listDeliveries,
    why: listReasons,
    replay: replayEvents,
    replays: listReplays,
    cancel: cancelReplay,
    rewrap,
  },
  instead: { edit: 'bridge webhooks update ID changes an endpoint.' },
})
