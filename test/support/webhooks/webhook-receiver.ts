/** Receives webhooks on a real socket and verifies each with the official library. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

/** Headers of the connection and of the body's length: HTTP's own. */
export const TRANSPORT_HEADERS = ['host', 'connection', 'content-length', 'transfer-encoding']

/** One request that came in. */
export interface Received {
  headers: IncomingHttpHeaders
  body: string
}

export interface WebhookReceiver {
  url: string
  received: Received[]
  /** What the official library says of them; throws at the first that is not signed by this secret. */
  verify(secret: string): unknown[]
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts one; `answer` gets the count of requests, this one included. Default: 204. */
export async function startReceiver(
  answer: (response: ServerResponse, request: Received, count: number) => void = (response) =>
    response.writeHead(204).end(),
): Promise<WebhookReceiver> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const own = { headers: request.headers, body: Buffer.concat(chunks).toString() }
    received.push(own)
    answer(response, own, received.length)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    verify: (secret) =>
      received.map(({ headers, body }) =>
        new Webhook(secret).verify(body, headers as Record<string, string>),
      ),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
