/** Names what tokens may be allowed to do. */

/** Scopes of a token. */
export type TokenScope = 'events:read' | 'webhooks:read' | 'webhooks:write' | 'webhooks:replay' | 'admin'
