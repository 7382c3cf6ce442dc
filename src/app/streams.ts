/**
 * Builds the role `feed`: the event stream over WebSocket and server-sent events.
 */
import { nodeId } from '../lifecycle/node-id.ts'
import { createStreams } from '../streams/streams.ts'
import type { Access } from './access.ts'
import { hasRole, type StartContext } from './context.ts'
import type { LeaderView } from './leader-report.ts'
import type { Readers } from './readers.ts'
import type { Storage } from './storage.ts'

/** Null for a process without the role `feed`. */
export function buildStreams(
  context: StartContext,
  { reader }: Storage,
  { authenticate, findCaller, tickets, tokens, keys }: Access,
  leader: LeaderView,
  { limits, rates }: Readers,
): ReturnType<typeof createStreams> | null {
  if (!hasRole(context, 'feed')) return null
  const { settings, calendar, roles } = context
  const streams = createStreams({
    ...context,
    reader,
    credentials: { authenticate, findCaller, tickets },
    corsOrigins: settings.corsOrigins,
    servesPages: hasRole(context, 'console'),
    upstream: () => ({ ...leader.news(), phase: calendar.phase(leader.upstreamNowMs()) }),
    limits,
    rates,
    tokens,
    node: { id: nodeId(), key: keys.key },
  })
  roles.push({ name: 'feed', run: (signal) => streams.run(signal) })
  return streams
}
