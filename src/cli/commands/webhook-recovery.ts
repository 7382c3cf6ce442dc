/**
 * Runs `bridge webhooks test` and `replay`: makes a running bridge send an endpoint a test event, or earlier events
 * again.
 */
import { BridgeError } from '../../errors.ts'
import { endpointWords, readOne } from '../client/endpoint-request.ts'
import { requestFlags } from '../client/target.ts'
import { fieldsOf, printableText, type ResponseFields } from '../client/verbs.ts'
import type { CliCommand } from '../terminal/arguments.ts'
import { counted } from '../terminal/text.ts'

const replayFlags = {
  ...requestFlags,
  after: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  ids: { type: 'string', multiple: true },
  dead: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
} as const

/** Advice for each failed outcome. */
const remedies: Readonly<Record<string, string>> = {
  blocked:
    'BRIDGE_WEBHOOK_ALLOW_NETS of the bridge does not allow this address: docs/use/webhooks-addresses.md.',
  dns: 'The host name of the URL was not found: check it with bridge webhooks show.',
  connect: 'Nothing accepted the connection: is the receiver running, and does a firewall let the bridge in?',
  tls: "The receiver's certificate was rejected: it must be valid for the host name, trusted and not expired.",
  timeout: 'The receiver has 15 seconds: respond first, then process.',
  gone: 'A delivery answered with 410 disables the endpoint; this test did not.',
  throttled:
    'The receiver asks for fewer requests: see --rate-limit and --max-concurrency of bridge webhooks add.',
}

/** Sends a test event; rejects unless the receiver accepts it. */
export const testEndpoint: CliCommand = async (args, context) => {
  const { id, json, path, send } = readOne('test', args, context)
  const answer = await send({ method: 'POST', path: `${path}/test` })
  const { outcome, durationMs, webhookId, response, ...fields } = fieldsOf(answer)
  if (json) context.stdout(JSON.stringify(answer))
  const status = fields.status === null ? 'no response' : `status ${printableText(fields.status)}`
  const what = `${status} after ${printableText(durationMs)} ms`
  if (outcome === 'ok') {
    if (!json) context.stdout(`accepted: ${what}, webhook-id ${printableText(webhookId)}`)
    return
  }
  if (response !== null && !json) context.stderr(`response: ${printableText(response)}`)
  const where = `${printableText(outcome)}, ${what} in the phase ${printableText(fields.phase)}`
  throw new BridgeError('failed', `${id} did not accept the test: ${where}`, {
    hint: remedies[printableText(outcome)] ?? 'See the log of the receiver: it must respond with 2xx.',
  })
}

/** Starts a replay, or counts its deliveries with `--dry-run`. */
export const replayEvents: CliCommand = async (args, context) => {
  const refusals = { ...endpointWords, cursorFlag: '--after' }
  const { values, id, json, path, send } = readOne('replay', args, context, replayFlags, refusals)
  if ([values.after, values.since, values.ids].every((given) => given === undefined)) {
    throw new BridgeError('usage', 'bridge webhooks replay needs one of --after, --since, --ids', {
      hint: 'bridge webhooks --help lists the flags and arguments.',
    })
  }
  const body = {
    after: values.after,
    since: values.since,
    until: values.until,
    ids: values.ids?.flatMap((text) => text.split(',')),
    dead: values.dead,
    dryRun: values['dry-run'],
  }
  const answer = fieldsOf(await send({ method: 'POST', path: `${path}/replay`, body }))
  const dryRun = values['dry-run'] === true
  if (json) context.stdout(JSON.stringify(answer))
  else context.stdout(printableText(dryRun ? answer.count : (answer.id ?? '–')))
  context.stderr(`${printableText(id)}: ${summaryOf(answer, dryRun)}`)
}

function summaryOf({ id, count, more }: ResponseFields, dryRun: boolean): string {
  const deliveries = `${more === true ? 'at least ' : ''}${counted(Number(count), 'delivery', 'deliveries')}`
  if (dryRun) return `a replay would send ${deliveries}`
  return id === null ? 'nothing to replay' : `replay of ${deliveries}, after new events`
}
