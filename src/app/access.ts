/**
 * Builds the authentication of callers (admin token, API tokens, stream tickets, browser sessions) and the registry of webhook endpoints.
 * A registry is this node's view of a table in the log.
 */
import { type Authenticate, adminAuthenticate, findCallerAmong } from '../http/auth.ts'
import { Endpoints } from '../registry/endpoints.ts'
import { createSessions, type Sessions } from '../registry/sessions.ts'
import { createTickets, type Tickets } from '../registry/tickets.ts'
import { Tokens } from '../registry/tokens.ts'
import { hasRole, type StartContext } from './context.ts'
import type { Storage } from './storage.ts'

/** Credentials and registries; a registry that no role needs stays empty. */
export interface Access {
  /** By the admin token or a token of the registry. */
  authenticate: Authenticate
  findCaller: ReturnType<typeof findCallerAmong>
  tokens: Tokens
  tickets: Tickets
  sessions: Sessions
  endpoints: Endpoints
  /** `BRIDGE_SECRET_KEY` and `BRIDGE_SECRET_KEY_OLD`. */
  keys: { key: string; oldKey: string | null }
  /** Readiness: whether each registry that a role needs has been read once. */
  checks: { tokens?: () => boolean; endpoints?: () => boolean }
}

/** Registers the roles that keep the registries up to date. */
export function buildAccess(context: StartContext, { log }: Storage): Access {
  const { settings, roles } = context
  const keys = { key: settings.secretKey ?? '', oldKey: settings.oldSecretKey }
  const tokens = new Tokens({ ...context, log })
  const endpoints = new Endpoints({ ...context, log })
  const needsTokens = hasRole(context, 'api', 'feed')
  const needsEndpoints = hasRole(context, 'api', 'webhooks')
  if (needsTokens) roles.push({ name: 'tokens', run: (signal) => tokens.run(signal) })
  if (needsEndpoints) roles.push({ name: 'endpoints', run: (signal) => endpoints.run(signal) })
  const findCaller = findCallerAmong(tokens.findCaller)
  return {
    authenticate: adminAuthenticate(settings.adminToken, tokens.authenticate),
    findCaller,
    tokens,
    tickets: createTickets({ ...context, keys, adminToken: settings.adminToken }),
    sessions: createSessions({ ...context, keys, adminToken: settings.adminToken, findCaller }),
    endpoints,
    keys,
    checks: {
      ...(needsTokens && { tokens: () => tokens.isLoaded }),
      ...(needsEndpoints && { endpoints: () => endpoints.isLoaded }),
    },
  }
}
