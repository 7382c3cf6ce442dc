/** Reads a bridge's events on from where a reader stands until it has what the sandbox lists. */
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import { type ApiEvent, eventually, pullAll } from '../http/api-client.ts'
import { compare, type TruthItem } from '../worlds/completeness.ts'

const MOST_MS = 60_000

/** The items that a poll can still find: in a step of the market's clock some come and go. */
export function listed(sandbox: Sandbox): TruthItem[] {
  return sandbox.truth().items.filter(({ vanishedAt }) => vanishedAt === null)
}

/** Adds to `read` what follows its last cursor, until everything is there that is listed now. Rejects after a minute. */
export async function readUpTo(sandbox: Sandbox, base: string, read: ApiEvent[]): Promise<void> {
  const truth = listed(sandbox)
  await eventually(
    async () => {
      read.push(...(await pullAll(base, '', read.at(-1)?.cursor ?? null)))
      return compare(truth, read).missing
    },
    ({ length }) => length === 0,
    MOST_MS,
  )
}
