/**
 * Builds the role `feed`: event streams over WebSocket and server-sent events. Both transports share the
 * reading of events, the limits on connections and the shutdown.
 */
import type { Route } from '../http/route.ts'
import type { Upgrade } from '../http/upgrade.ts'
import { type ContextOptions, createContext } from './transport/context.ts'
import { sseRoute } from './transport/sse.ts'
import { type WebSocketOptions, WebSocketUpgrade, webSocketRoute } from './transport/websocket.ts'

/** The streams of this node. */
export interface Streams {
  readonly routes: readonly Route[]
  /** Accepts WebSockets; give it to the listener. */
  readonly upgrade: Upgrade
  /** Wakes streams when the log has new events, until the signal aborts. Rejects with a fault of the store. */
  run(signal: AbortSignal): Promise<void>
  /** Asks every client to reconnect, ends its stream, and refuses new ones. */
  stop(): void
}

/** The streams, not yet running. */
export function createStreams(options: ContextOptions & WebSocketOptions): Streams {
  const stopping = new AbortController()
  const context = createContext(options, stopping.signal)
  return {
    routes: [sseRoute(context, options.credentials), webSocketRoute],
    upgrade: new WebSocketUpgrade(context, options),
    run: (signal) => context.fanoutIndex.run(signal),
    stop() {
      stopping.abort()
      for (const stream of [...context.open]) context.tickBudget.run(() => stream.onNodeStops())
    },
  }
}
