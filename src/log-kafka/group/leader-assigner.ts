/**
 * Assigns the one partition whose holder is the leader: to a member whose replica is complete, among these to the one that
 * holds it already, else to the one that has waited longest. A joining standby thus never replaces a healthy leader, but
 * does replace one that could not poll before its replica is filled.
 */
import type { PartitionAssigner } from 'kafkajs'
import { z } from 'zod'
import { groupAssigner } from './group-protocol.ts'

/** The metadata that a member sends with its join. */
export interface Candidacy {
  /** It holds the partition at this moment. */
  holds: boolean
  /** When its process began to wait, ms since 1970, its own clock. */
  sinceMs: number
  /** Events that its replica lacks; 0: it is complete, also where the member's version does not report it. */
  missing: number
}

const candidacySchema = z.object({ holds: z.boolean(), sinceMs: z.number(), missing: z.number().default(0) })

/** A member with unreadable metadata comes last. */
const UNREADABLE: Candidacy = {
  holds: false,
  sinceMs: Number.MAX_SAFE_INTEGER,
  missing: Number.MAX_SAFE_INTEGER,
}

/**
 * The member to lead: the one whose replica lacks least, then one that holds, then the one that waits longest, then by id.
 * null without members.
 */
export function chooseMember(members: ReadonlyMap<string, Candidacy>): string | null {
  const [chosen] = [...members].toSorted(
    ([oneId, one], [otherId, other]) =>
      one.missing - other.missing ||
      Number(other.holds) - Number(one.holds) ||
      one.sinceMs - other.sinceMs ||
      (oneId < otherId ? -1 : 1),
  )
  return chosen?.[0] ?? null
}

/** kafkajs's assigner for that rule; `candidacy` is read at every join. */
export function leaderAssigner(candidacy: () => Candidacy): PartitionAssigner {
  return groupAssigner({
    name: 'bridge-leader',
    metadata: candidacy,
    assign(metadata) {
      const chosen = chooseMember(new Map([...metadata].map(([id, bytes]) => [id, readCandidacy(bytes)])))
      return new Map(chosen === null ? [] : [[chosen, [0]]])
    },
  })
}

/** The candidacy in a member's metadata, which another version or program may have written. */
export function readCandidacy(userData: Buffer | undefined): Candidacy {
  try {
    return candidacySchema.parse(JSON.parse(`${userData}`))
  } catch {
    return UNREADABLE
  }
}
