/**
 * Adapts a rule that assigns partitions to kafkajs's assigner interface. Each member sends JSON metadata as it joins the
 * consumer group, and the group's leader applies the rule to all of it.
 */
import { AssignerProtocol, type PartitionAssigner } from 'kafkajs'

const VERSION = 1

/** A rule that assigns partitions to members. */
export interface AssignmentRule {
  /** The protocol name that all members must share. */
  name: string
  /** This member's metadata, read at every join. */
  metadata(): unknown
  /**
   * The partitions of each member, by the members' metadata; a member that is left out gets none. Metadata of another
   * version or program may be anything.
   */
  assign(metadata: ReadonlyMap<string, Buffer | undefined>): ReadonlyMap<string, readonly number[]>
}

/** kafkajs's assigner for that rule. */
export function groupAssigner({ name, metadata, assign }: AssignmentRule): PartitionAssigner {
  const { MemberMetadata, MemberAssignment } = AssignerProtocol
  return () => ({
    name,
    version: VERSION,
    protocol: ({ topics }) => ({
      name,
      metadata: MemberMetadata.encode({
        version: VERSION,
        topics,
        userData: Buffer.from(JSON.stringify(metadata())),
      }),
    }),
    async assign({ members, topics }) {
      const sent = members.map(({ memberId, memberMetadata }): [string, Buffer | undefined] => {
        return [memberId, MemberMetadata.decode(memberMetadata)?.userData]
      })
      const assigned = assign(new Map(sent))
      return members.map(({ memberId }) => {
        const partitions = assigned.get(memberId)
        const each = partitions === undefined ? [] : topics.map((topic) => [topic, [...partitions]])
        return {
          memberId,
          memberAssignment: MemberAssignment.encode({
            version: VERSION,
            assignment: Object.fromEntries(each),
            userData: Buffer.alloc(0),
          }),
        }
      })
    },
  })
}
