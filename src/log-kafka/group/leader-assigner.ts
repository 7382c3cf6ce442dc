/**
 * Assigns the one partition whose holder is the leader: to the member that holds it already, else to the member that has
 * waited longest. A joining standby thus never replaces a healthy leader.
 */
import type { PartitionAssigner } from 'kafkajs'
import { groupAssigner } from './group-protocol.ts'

/** The metadata that a member sends with its join. */
export interface Candidacy {
  /** It holds the partition at this moment. */
  holds: boolean
  /** When its process began to wait, ms since 1970, its own clock. */
  sinceMs: number
}

/** A member with unreadable metadata comes last. */
const UNREADABLE: Candidacy = { holds: false, sinceMs: Number.MAX_SAFE_INTEGER }

/** The member to lead: one that holds, then the one that waits longest, then by id. null without members. */
export function chooseMember(members: ReadonlyMap<string, Candidacy>): string | null {
  const [chosen] = [...members].toSorted(
    ([oneId, one], [otherId, other]) =>
      Number(other.holds) - Number(one.holds) || one.sinceMs - other.sinceMs || (oneId < otherId ? -1 : 1),
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
    const { holds, sinceMs } = JSON.parse(String(userData)) as Partial<Candidacy>
    return typeof holds === 'boolean' && typeof sinceMs === 'number' ? { holds, sinceMs } : UNREADABLE
  } catch {
    return UNREADABLE
  }
}
