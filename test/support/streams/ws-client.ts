/** A WebSocket client that records what it received, for tests of streams. */
import { WebSocket } from 'ws'
import type { ApiEvent } from '../http/api-client.ts'
import { TOKEN, until } from '../http/api-server.ts'

/** A message of `bridge.v1.json`, or a CloudEvent. */
export interface StreamMessage {
  type: string
  code?: number
  name?: string
  detail?: string
  id?: string | null
  cursor?: string
  sent?: string
  event?: ApiEvent
  sequence?: string
  data?: Record<string, unknown>
  [member: string]: unknown
}

export interface StreamClient {
  webSocket: WebSocket
  messages: StreamMessage[]
  /** The texts of the messages, unparsed. */
  texts: string[]
  send(message: unknown): void
  /** Resolves with the first message of this type, received already or later. */
  next(type: string): Promise<StreamMessage>
  types(): string[]
  sequences(): number[]
  /** Resolves when the connection has closed. */
  closed: Promise<{ code: number; reason: string }>
}

/** A server and the header that opens it. */
export interface StreamServer {
  url: string
  auth: Record<string, string>
}

/** Opens a stream, by default with the bearer header. */
export async function openStream(
  api: StreamServer,
  options: { headers?: Record<string, string>; protocols?: string[]; path?: string } = {},
): Promise<StreamClient> {
  const { headers = api.auth, protocols = [], path = '/v1/stream' } = options
  const webSocket = new WebSocket(`${api.url.replace('http', 'ws')}${path}`, protocols, { headers })
  const messages: StreamMessage[] = []
  const texts: string[] = []
  webSocket.on('message', (data) => {
    texts.push(String(data))
    messages.push(JSON.parse(String(data)) as StreamMessage)
  })
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    webSocket.on('close', (code, reason) => resolve({ code, reason: reason.toString() })),
  )
  await new Promise<void>((resolve, reject) => {
    webSocket.on('open', resolve)
    webSocket.on('unexpected-response', (_request, response) => {
      let body = ''
      response.on('data', (chunk) => {
        body += String(chunk)
      })
      response.on('end', () => reject(new Error(`${response.statusCode} ${body}`)))
    })
    webSocket.on('error', reject)
  })
  return {
    webSocket,
    messages,
    texts,
    send: (message) => webSocket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    async next(type) {
      await until(
        () => messages.some((message) => message.type === type) || webSocket.readyState === WebSocket.CLOSED,
      )
      const found = messages.find((message) => message.type === type)
      if (found === undefined) throw new Error(`closed without ${type}: ${texts.join('\n')}`)
      return found
    },
    types: () => messages.map(({ type }) => type),
    sequences: () => messages.flatMap(({ event }) => (event === undefined ? [] : [Number(event.sequence)])),
    closed,
  }
}

/** The first frame of a client without a header. */
export const AUTH = { action: 'auth', token: TOKEN }

/** Opens a stream, subscribes and waits until it has caught up. */
export async function subscribed(api: StreamServer, subscription: object = {}): Promise<StreamClient> {
  const client = await openStream(api)
  client.send({ action: 'subscribe', ...subscription })
  await client.next('live')
  return client
}
