/** Speaks the DevTools protocol with a browser: calls methods, and hands on events. */
import { once } from 'node:events'
import { WebSocket } from 'ws'

/** A connection to a browser. */
export interface DevTools {
  /** Calls a method of the protocol. Rejects with the browser's error. */
  ask<T>(method: string, params?: object, sessionId?: string): Promise<T>
}

/** A response has an `id`, an event a `method`. */
interface DevToolsMessage {
  id?: number
  method?: string
  params?: unknown
  result?: unknown
  error?: { message: string }
}

/** Connects to the browser at this address; `onEvent` gets each event. */
export async function openDevTools(
  address: string,
  onEvent: (method: string, params: unknown) => void,
): Promise<DevTools> {
  const socket = new WebSocket(address)
  await once(socket, 'open')
  const waiting = new Map<number, (message: DevToolsMessage) => void>()
  let asked = 0
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as DevToolsMessage
    if (message.method !== undefined) onEvent(message.method, message.params)
    waiting.get(message.id ?? 0)?.(message)
    waiting.delete(message.id ?? 0)
  })
  // `close` follows.
  socket.on('error', () => {})
  let isOpen = true
  socket.on('close', () => {
    isOpen = false
    for (const answer of waiting.values()) answer({ error: { message: 'the browser is gone' } })
  })
  return {
    ask<T>(method: string, params: object = {}, sessionId?: string) {
      if (!isOpen) return Promise.reject(new Error(`${method}: the browser is gone`))
      asked += 1
      const id = asked
      return new Promise<T>((resolve, reject) => {
        waiting.set(id, ({ result, error }) =>
          error === undefined ? resolve(result as T) : reject(new Error(`${method}: ${error.message}`)),
        )
        socket.send(JSON.stringify({ id, method, params, sessionId }))
      })
    },
  }
}
