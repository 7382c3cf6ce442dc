/** Runs `bridge trigger`: makes a running bridge send an endpoint a synthetic event in the shape of a real one. */
import { requestFlags } from '../client/target.ts'
import { command } from '../terminal/command.ts'
import { reportTest } from './webhooks/recovery.ts'
import { endpointRequest, REQUEST_HELP } from './webhooks/verb.ts'

/** Sends the event, once; rejects unless the receiver accepts it. */
export const triggerCommand = command(
  {
    name: 'trigger',
    words: ['ID'],
    does: 'sends a synthetic event to a webhook endpoint, once, and prints the result',
    help: `ID is that of the endpoint (bridge webhooks list). The id of the event begins with test_, its sequence and
epoch are zero; no log holds it, and no other reader gets it.
  --type KIND           published, amended or gap; default published
${REQUEST_HELP}

  bridge trigger ep_… --type gap`,
    flags: { ...requestFlags, type: { type: 'string' } },
  },
  async ({ values, words: [id = ''] }, context) => {
    const { path, send, json } = endpointRequest(id, values, context)
    const type = encodeURIComponent(values.type ?? 'published')
    reportTest(id, await send({ method: 'POST', path: `${path}/test?type=${type}` }), json, context)
  },
)
