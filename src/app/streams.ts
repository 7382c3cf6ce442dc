/**
 * Builds the role `feed`: the event stream over WebSocket and server-sent events.
 */
import type { Ingest } from '../ingest/ingest.ts'
import { createStreams } from '../streams/streams.ts'
import type { Access } from './access.ts'
import { hasRole, type StartContext } from './context.ts'
import { createUpstreamStatus } from './status.ts'
import type { Storage } from './storage.ts'

/** Null for a process without the role `feed`. */
export function buildStreams(
  context: StartContext,
  { reader }: Storage,
  { authenticate, findCaller, tickets }: Access,
  ingest: Ingest | null,
): ReturnType<typeof createStreams> | null {
  if (!hasRole(context, 'feed')) return null
  const { settings, roles } = context
  const streams = createStreams({
    ...context,
    reader,
    credentials: { authenticate, findCaller, tickets },
    corsOrigins: settings.corsOrigins,
    upstream: createUpstreamStatus({ ...context, ingest }),
    maxClients: settings.streamMaxClients,
  })
  roles.push({ name: 'feed', run: (signal) => streams.run(signal) })
  return streams
}
