/** Gives the name under which a caller sees a node: only the operator may learn hosts and process ids. */
import { createHmac } from 'node:crypto'
import type { Caller } from '../http/auth.ts'

/**
 * The name of the node of that id: the id itself for `BRIDGE_ADMIN_TOKEN`, else one from which nobody without `key` learns
 * or checks a host name. It is the same on every node with that key.
 */
export function nodeNameFor(caller: Pick<Caller, 'seesAllTenants'>, id: string, key: string): string {
  if (caller.seesAllTenants) return id
  return createHmac('sha256', key).update(`leader ${id}`).digest('hex').slice(0, 12)
}
