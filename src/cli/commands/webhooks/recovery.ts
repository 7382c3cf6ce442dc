/**
 * Runs `bridge webhooks test`, `replay` and `cancel`: makes a running bridge send an endpoint a test event, or earlier
 * events again, and ends that.
 */
import { BridgeError } from '../../../errors.ts'
import { fieldsOf, printableText, type ResponseFields } from '../../client/lists.ts'
import type { CommandContext } from '../../terminal/context.ts'
import { counted } from '../../terminal/text.ts'
import { endpointVerb } from './verb.ts'

/** Advice for each failed outcome. */
const remedies: Readonly<Record<string, string>> = {
  blocked:
    'BRIDGE_WEBHOOK_ALLOW_NETS of the bridge does not allow this address: docs/use/webhooks-addresses.md.',
  dns:
    'The host name of the URL was not found, or leads to an address that is not allowed: check it with bridge webhooks ' +
    'show. The log of the bridge says which (webhook.tested, reason).',
  connect: 'Nothing accepted the connection: is the receiver running, and does a firewall let the bridge in?',
  tls: "The receiver's certificate was rejected: it must be valid for the host name, trusted and not expired.",
  timeout: 'The receiver has 15 seconds: respond first, then process.',
  gone: 'A delivery answered with 410 disables the endpoint; this test did not.',
  throttled:
    'The receiver asks for fewer requests: see --rate-limit and --max-concurrency of bridge webhooks add.',
}

/** Sends a test event; rejects unless the receiver accepts it. */
export const testEndpoint = endpointVerb(
  { name: 'test', does: 'sends one test event and prints the result', flags: {} },
  async ({ id, json, path, send }, context) => {
    const answer = await send({ method: 'POST', path: `${path}/test` })
    reportTest(id, answer, json, context)
  },
)

/**
 * Prints what came of a test.
 * @throws BridgeError `failed` with the remedy where the receiver did not accept it
 */
export function reportTest(id: string, answer: unknown, json: boolean, context: CommandContext): void {
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

const REPLAY_HELP = `One of these three:
  --after CURSOR        events after that one
  --since TIME          events from that time on, e.g. 2026-02-03T07:00Z
  --ids ID,ID           only these disclosures
and:
  --until CURSOR|TIME   the last one; default: now
  --dead                only deliveries that were given up
  --dry-run             counts the deliveries and sends none`

/** Starts a replay, or counts its deliveries with `--dry-run`. */
export const replayEvents = endpointVerb(
  {
    name: 'replay',
    does: 'sends events again; prints the id of the replay',
    help: REPLAY_HELP,
    flags: {
      after: { type: 'string' },
      since: { type: 'string' },
      until: { type: 'string' },
      ids: { type: 'string', multiple: true },
      dead: { type: 'boolean' },
      'dry-run': { type: 'boolean' },
    },
    cursorFlag: '--after',
  },
  async ({ values, id, json, path, send }, context) => {
    if ([values.after, values.since, values.ids].every((given) => given === undefined)) {
      throw new BridgeError('usage', 'bridge webhooks replay needs one of --after, --since, --ids', {
        hint: 'bridge webhooks replay --help lists the flags and arguments.',
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
  },
)

/** Ends a replay. */
export const cancelReplay = endpointVerb(
  {
    name: 'cancel',
    words: ['REPLAY'],
    does: 'ends a replay; what waits for a retry is still sent',
    flags: {},
    missing: {
      message: 'does not have this endpoint, or the replay is over',
      hint: 'bridge webhooks replays ID shows the replays that are not over.',
    },
  },
  async ({ id, rest: [replay = ''], json, path, send }, { stdout, stderr }) => {
    await send({ method: 'DELETE', path: `${path}/replays/${encodeURIComponent(replay)}` })
    if (json) stdout(JSON.stringify({ id: replay, cancelled: true }))
    else stderr(`${printableText(id)}: the replay ${printableText(replay)} ends`)
  },
)

function summaryOf({ id, count, waiting, more }: ResponseFields, dryRun: boolean): string {
  const deliveries = `${more === true ? 'at least ' : ''}${counted(Number(count), 'delivery', 'deliveries')}`
  const hastened =
    Number(waiting) > 0 ? ` (${printableText(waiting)} of them waiting for a retry, due at once)` : ''
  if (dryRun) return `a replay would send ${deliveries}${hastened}`
  return id === null ? 'nothing to replay' : `replay of ${deliveries}, after new events${hastened}`
}
