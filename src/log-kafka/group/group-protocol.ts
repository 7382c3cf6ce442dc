/**
 * The protocol by which members of a group share partitions, as kafkajs asks for it: what each says of itself goes round as
 * JSON, and the member that the group chose gives everybody theirs. Owns the bytes. Refuses to know the rule.
 */
import { AssignerProtocol, type PartitionAssigner } from 'kafkajs'

const VERSION = 1

/** A rule of sharing. */
export interface GroupRule {
  /** By which members know that they mean the same. */
  name: string
  /** What this member says of itself, asked at every join. */
  say(): unknown
  /**
   * The partitions of members, by what each says; who is left out gets none. Members of another version, or of another
   * program, may say anything.
   */
  share(said: ReadonlyMap<string, Buffer | undefined>): ReadonlyMap<string, readonly number[]>
}

/** kafkajs's assigner by that rule. */
export function groupAssigner({ name, say, share }: GroupRule): PartitionAssigner {
  const { MemberMetadata, MemberAssignment } = AssignerProtocol
  return () => ({
    name,
    version: VERSION,
    protocol: ({ topics }) => ({
      name,
      metadata: MemberMetadata.encode({
        version: VERSION,
        topics,
        userData: Buffer.from(JSON.stringify(say())),
      }),
    }),
    async assign({ members, topics }) {
      const said = members.map(({ memberId, memberMetadata }): [string, Buffer | undefined] => {
        return [memberId, MemberMetadata.decode(memberMetadata)?.userData]
      })
      const shares = share(new Map(said))
      return members.map(({ memberId }) => {
        const partitions = shares.get(memberId)
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
