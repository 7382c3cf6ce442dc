/**
 * Which member of the group gets the one partition. Owns the rule: who has it keeps it, else the process that started
 * first, so that a standby which joins never unseats a healthy leader. Pure.
 */
import type { PartitionAssigner } from 'kafkajs'
import { groupAssigner } from './group-protocol.ts'

/** What a member says of itself when it joins. */
export interface Candidacy {
  /** It holds the partition at this moment. */
  holds: boolean
  /** When its process began to wait, ms since 1970, its own clock. */
  sinceMs: number
}

/** A member that says nothing readable comes last. */
const UNREADABLE: Candidacy = { holds: false, sinceMs: Number.MAX_SAFE_INTEGER }

/** The member to lead: one that holds, then the one that waits longest, then by id. null without members. */
export function chooseMember(members: ReadonlyMap<string, Candidacy>): string | null {
  const [chosen] = [...members].toSorted(
    ([oneId, one], [otherId, other]) =>
      Number(other.holds) - Number(one.holds) || one.sinceMs - other.sinceMs || (oneId < otherId ? -1 : 1),
  )
  return chosen?.[0] ?? null
}

/** kafkajs's assigner by that rule; `candidacy` is asked at every join. */
export function leaderAssigner(candidacy: () => Candidacy): PartitionAssigner {
  return groupAssigner({
    name: 'bridge-leader',
    say: candidacy,
    share(said) {
      const chosen = chooseMember(new Map([...said].map(([id, text]) => [id, readCandidacy(text)])))
      return new Map(chosen === null ? [] : [[chosen, [0]]])
    },
  })
}

/** Members of another version, or of another program, may write anything. */
export function readCandidacy(userData: Buffer | undefined): Candidacy {
  try {
    const { holds, sinceMs } = JSON.parse(String(userData)) as Partial<Candidacy>
    return typeof holds === 'boolean' && typeof sinceMs === 'number' ? { holds, sinceMs } : UNREADABLE
  } catch {
    return UNREADABLE
  }
}
