/**
 * `bridge webhooks test` and `replay`: trying an endpoint out, and sending events once more. Owns their flags, and what goes to
 * stdout (what came of it, the id or the count) and stderr (words). Refuses to judge what is asked for: the bridge does.
 */
import { BridgeError } from '../../errors.ts'
import { askerFlags } from '../client/asker.ts'
import {
  askedEndpoint,
  endpointWords,
  type Fields,
  fieldsOf,
  readOne,
  textOf,
} from '../client/endpoint-asker.ts'
import { readFlagsAndWords } from '../terminal/arguments.ts'
import type { CommandContext } from '../terminal/context.ts'

const replayFlags = {
  ...askerFlags,
  after: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  ids: { type: 'string', multiple: true },
  dead: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
} as const

/** What to do about an outcome that is a failure. */
const remedies: Readonly<Record<string, string>> = {
  blocked: 'The bridge does not connect to such an address: docs/use/webhooks-addresses.md.',
  dns: 'The name of the URL was not found: look at it with bridge webhooks show.',
  connect: 'Nothing took the connection: is the receiver running, and does a firewall let the bridge in?',
  tls: "The receiver's certificate is not taken: it must be valid for the name, and not expired.",
  timeout: 'The receiver has 15 seconds: answer first, then work.',
  gone: 'A delivery that is answered 410 disables the endpoint; this test did not.',
  throttled: 'The receiver wants less: --rate-limit and --max-concurrency of bridge webhooks add.',
}

/** Sends a test, and fails unless it is taken. */
export async function testEndpoint(args: string[], context: CommandContext): Promise<void> {
  const { id, json, path, ask } = readOne(args, context)
  const answer = await ask({ method: 'POST', path: `${path}/test` })
  const { outcome, durationMs, webhookId, response, ...fields } = fieldsOf(answer)
  if (json) context.stdout(JSON.stringify(answer))
  const status = fields.status === null ? 'no answer' : `status ${textOf(fields.status)}`
  const what = `${status} after ${textOf(durationMs)} ms`
  if (outcome === 'ok') {
    if (!json) context.stdout(`taken: ${what}, webhook-id ${textOf(webhookId)}`)
    return
  }
  if (response !== null && !json) context.stderr(`it answered: ${textOf(response)}`)
  const where = `${textOf(outcome)}, ${what} in the phase ${textOf(fields.phase)}`
  throw new BridgeError('failed', `${id} did not take the test: ${where}`, {
    hint: remedies[textOf(outcome)] ?? 'Look at the log of the receiver: it has to answer 2xx.',
  })
}

/** Begins a replay, or counts what it would make. */
export async function replayEvents(args: string[], context: CommandContext): Promise<void> {
  const { values, words } = readFlagsAndWords('webhooks', args, replayFlags, ['ID'])
  const refusals = { ...endpointWords, cursorFlag: '--after' }
  const { id, json, path, ask } = askedEndpoint(values, words, refusals, context)
  const body = {
    after: values.after,
    since: values.since,
    until: values.until,
    ids: values.ids?.flatMap((text) => text.split(',')),
    dead: values.dead,
    dryRun: values['dry-run'],
  }
  const answer = fieldsOf(await ask({ method: 'POST', path: `${path}/replay`, body }))
  const dryRun = values['dry-run'] === true
  if (json) context.stdout(JSON.stringify(answer))
  else context.stdout(textOf(dryRun ? answer.count : (answer.id ?? '–')))
  context.stderr(`${textOf(id)}: ${saidOf(answer, dryRun)}`)
}

function saidOf({ id, count, more }: Fields, dryRun: boolean): string {
  const deliveries = `${more === true ? 'at least ' : ''}${textOf(count)} deliveries`
  if (dryRun) return `a replay would make ${deliveries}`
  return id === null ? 'nothing to replay' : `replay of ${deliveries}, behind what is new`
}
