/**
 * Serves a WebSocket whose messages a test scripts, in place of a bridge, and records what each connection sent.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { until } from '../http/api-server.ts'

/** One connection of a client. */
export interface ScriptedConnection {
  /** The requested path and query. */
  path: string
  /** The received messages, parsed. */
  heard: Record<string, unknown>[]
  say(...messages: object[]): void
  /** Sends `authenticated` and `hello`, and waits for the subscription. */
  welcome(heartbeatMs?: number): Promise<Record<string, unknown>>
  close(code: number, reason?: string): void
  webSocket: WebSocket
}

export interface ScriptedStream {
  url: string
  /** Resolves with the connection of this number, from 1 on, once it is open. */
  connection(number: number): Promise<ScriptedConnection>
  /** Connections so far. */
  count(): number
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts it on a free port. */
export async function startScriptedStream(): Promise<ScriptedStream> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  const connections: ScriptedConnection[] = []
  server.on('connection', (webSocket, { url = '' }) => {
    const heard: Record<string, unknown>[] = []
    webSocket.on('message', (data) => heard.push(JSON.parse(String(data)) as Record<string, unknown>))
    webSocket.on('error', () => {})
    const say = (...messages: object[]): void => {
      for (const message of messages) webSocket.send(JSON.stringify(message))
    }
    connections.push({
      path: url,
      heard,
      say,
      async welcome(heartbeatMs = 15_000) {
        say(
          { type: 'authenticated' },
          { type: 'hello', protocol: 'bridge.v1.json', epoch: 'Epoch001', oldest: 1, latest: 9, heartbeatMs },
        )
        await until(() => heard.some(({ action }) => action === 'subscribe'))
        return heard.find(({ action }) => action === 'subscribe') ?? {}
      },
      close: (code, reason = '') => webSocket.close(code, reason),
      webSocket,
    })
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async connection(number) {
      await until(() => connections.length >= number)
      const found = connections[number - 1]
      if (found === undefined) throw new Error(`there is no connection ${number}`)
      return found
    },
    count: () => connections.length,
    async [Symbol.asyncDispose]() {
      for (const client of server.clients) client.terminate()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
