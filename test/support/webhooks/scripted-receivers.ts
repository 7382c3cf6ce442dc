/**
 * Serves many receivers on one server, a path each, with scripted responses and delays, and records every request in
 * order. `webhook-verdict.ts` checks the record.
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SeededChance } from '../../../src/core/chance.ts'

/** The outcome of a request: accepted (2xx), refused by the receiver's script, or its sender disconnected before the response. */
export type ReceiptEnd = 'taken' | 'refused' | 'cut'

/** One request. `came` and `answered` count on one counter, so that they can be compared. */
export interface Receipt {
  /** The path's name. */
  receiver: string
  webhookId: string
  headers: IncomingHttpHeaders
  body: string
  /** The number of kills before it. */
  life: number
  came: number
  /** null: not yet, or never. */
  answered: number | null
  end: ReceiptEnd | null
}

/** The scripted response to a request; `tries` counts those with this id, this one included. */
export type ReceiverScript = (
  request: { webhookId: string; tries: number },
  chance: SeededChance,
) => { status: number | 'break'; afterMs: number }

/** The scripts of a campaign's endpoints. */
export const receiverScripts = {
  healthy: (_request, chance) => ({ status: 204, afterMs: chance.between(0, 20) }),
  slow: (_request, chance) => ({ status: 200, afterMs: chance.between(100, 600) }),
  /** The first try of every fifth delivery fails: with a 503, a 429 or a broken connection. */
  failing: ({ webhookId, tries }, chance) => {
    const fails = tries === 1 && (createHash('sha256').update(webhookId).digest()[0] ?? 0) % 5 === 0
    return { status: fails ? chance.pick([503, 429, 'break'] as const) : 204, afterMs: chance.between(0, 60) }
  },
} satisfies Record<string, ReceiverScript>

export interface ScriptedReceivers extends AsyncDisposable {
  /** The URL of a receiver. */
  url(receiver: string): string
  readonly receipts: readonly Receipt[]
  /** A process was killed: later requests come from the next one. */
  killed(): void
}

/** Starts it. */
export async function startScriptedReceivers(
  scripts: Readonly<Record<string, ReceiverScript>>,
  chance: SeededChance,
): Promise<ScriptedReceivers> {
  const receipts: Receipt[] = []
  const tries = new Map<string, number>()
  let counter = 0
  let life = 0
  const server = createServer(async (request, response) => {
    const receiver = request.url?.slice(1) ?? ''
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      // The sender crashed before the body was complete: nothing was received.
      return
    }
    const webhookId = String(request.headers['webhook-id'])
    const key = `${receiver} ${webhookId}`
    const count = (tries.get(key) ?? 0) + 1
    tries.set(key, count)
    const body = Buffer.concat(chunks).toString()
    const { headers } = request
    const receipt: Receipt = {
      receiver,
      webhookId,
      headers,
      body,
      life,
      came: ++counter,
      answered: null,
      end: null,
    }
    receipts.push(receipt)
    const script = scripts[receiver]?.({ webhookId, tries: count }, chance) ?? { status: 404, afterMs: 0 }
    const over = (end: ReceiptEnd): void => {
      if (receipt.end !== null) return
      receipt.end = end
      receipt.answered = ++counter
    }
    response.once('close', () => over('cut'))
    setTimeout(() => {
      if (response.destroyed) return
      over(typeof script.status === 'number' && script.status < 300 ? 'taken' : 'refused')
      if (script.status === 'break') request.socket.destroy()
      else response.writeHead(script.status).end()
    }, script.afterMs)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: (receiver) => `http://127.0.0.1:${port}/${receiver}`,
    receipts,
    killed() {
      life += 1
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
