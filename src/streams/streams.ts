/**
 * Builds the role `feed`: event streams over WebSocket and server-sent events. Both transports share the
 * reading of events, the limits on connections, the list of open streams and the shutdown.
 */
import type { Caller } from '../http/auth.ts'
import type { Route } from '../http/route.ts'
import type { Upgrade } from '../http/upgrade.ts'
import type { Sends } from './fanout/recent-sends.ts'
import { type ManagementOptions, managementRoutes } from './management/stream-routes.ts'
import { type ContextOptions, createContext } from './transport/context.ts'
import { sseRoute } from './transport/sse.ts'
import { type WebSocketOptions, WebSocketUpgrade, webSocketRoute } from './transport/websocket.ts'

/** The streams of this node. */
export interface Streams {
  readonly routes: readonly Route[]
  /** Accepts WebSockets; give it to the listener. */
  readonly upgrade: Upgrade
  /** To how many live streams of the caller an event was written; null where that is not kept. */
  sendsOf(caller: Caller, event: { epoch: string; sequence: number; recordedMs: number }): Sends | null
  /** Wakes streams when the log has new events, until the signal aborts. Rejects with a fault of the store. */
  run(signal: AbortSignal): Promise<void>
  /** Asks every client to reconnect, ends its stream, and refuses new ones. */
  stop(): void
}

/** The streams, not yet running. */
export function createStreams(options: ContextOptions & WebSocketOptions & ManagementOptions): Streams {
  const stopping = new AbortController()
  const context = createContext(options, stopping.signal)
  return {
    routes: [sseRoute(context, options.credentials), webSocketRoute, ...managementRoutes(context, options)],
    upgrade: new WebSocketUpgrade(context, options),
    sendsOf({ seesAllTenants, tenant }, { epoch, sequence, recordedMs }) {
      return context.recentSends.of(seesAllTenants ? null : tenant, epoch, sequence, recordedMs)
    },
    run: (signal) => context.fanoutIndex.run(signal),
    stop() {
      stopping.abort()
      for (const stream of [...context.open.all()]) context.tickBudget.run(() => stream.onNodeStops())
    },
  }
}
