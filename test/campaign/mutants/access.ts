/** Mutants of access: scopes and tenants. */
import type { Mutant } from './mutant.ts'

const tenantsTest = (title: string) => ({ file: 'test/integration/edges/tenants.test.ts', title })
const FOREIGN_PATH =
  'an id of another tenant in a path is answered as one that never was, and the thing stays as it is'

/** Mutants of what a token may do and see. */
export const accessMutants: readonly Mutant[] = [
  {
    name: 'scope-not-checked',
    file: 'src/http/auth.ts',
    before: 'if (scope === null || caller.scopes.includes(scope)) return',
    after: 'if (scope === null || caller.scopes.length > 0) return',
    breaks: 'A token does only what its scopes allow.',
    killedBy: tenantsTest('every operation is done with exactly the scope that it needs'),
  },
  {
    name: 'mirror-scope-not-checked',
    file: 'src/api/routes/mirror-router.ts',
    before: "if (caller.scopes.includes('events:read')) return",
    after: 'if (caller.scopes.length > 0) return',
    breaks: 'Below /v2 a key needs the scope events:read.',
    killedBy: tenantsTest('every operation is done with exactly the scope that it needs'),
  },
  {
    name: 'stream-scope-not-checked',
    file: 'src/streams/transport/identity.ts',
    before: "return callerOf(token, 'events:read', authenticate)",
    after: 'return callerOf(token, null, authenticate)',
    breaks: 'A WebSocket needs the scope events:read, however many subscriptions it has.',
    killedBy: {
      file: 'test/integration/edges/tenant-streams.test.ts',
      title: 'a token with %s gets the events of all its subscriptions, or of none',
    },
  },
  {
    name: 'endpoint-of-another-tenant',
    file: 'src/webhooks/endpoints/endpoint-of.ts',
    before: 'if (endpoint === null || !(seesAllTenants || endpoint.tenant === tenant)) throw',
    after: 'if (endpoint === null || !(seesAllTenants || tenant !== null)) throw',
    breaks: 'No tenant reaches an endpoint of another.',
    killedBy: tenantsTest(FOREIGN_PATH),
  },
  {
    name: 'token-of-another-tenant',
    file: 'src/api/routes/token-routes.ts',
    before: 'if (token === null || !(caller.seesAllTenants || token.tenant === caller.tenant)) {',
    after: 'if (token === null) {',
    breaks: 'No tenant deletes a token of another.',
    killedBy: tenantsTest(FOREIGN_PATH),
  },
]
