import fc from 'fast-check'
import { AssignerProtocol, type Cluster, type Logger } from 'kafkajs'
import { describe, expect, it } from 'vitest'
import {
  type Candidacy,
  chooseMember,
  leaderAssigner,
  readCandidacy,
} from '../../../src/log-kafka/group/leader-assigner.ts'

const candidacy: fc.Arbitrary<Candidacy> = fc.record({
  holds: fc.boolean(),
  sinceMs: fc.nat(),
  missing: fc.nat({ max: 3 }),
})
const group = fc.dictionary(fc.stringMatching(/^[a-z][0-9]{0,2}$/), candidacy, { minKeys: 1 })

/** The members' assignments when one of them assigns. */
async function assigned(
  members: Record<string, Partial<Candidacy> | 'rubbish'>,
): Promise<Record<string, unknown>> {
  const assigner = (metadata: Partial<Candidacy>) =>
    leaderAssigner(() => metadata as Candidacy)({
      cluster: {} as Cluster,
      groupId: 'group',
      logger: {} as Logger,
    })
  const joined = Object.entries(members).map(([memberId, metadata]) => ({
    memberId,
    memberMetadata:
      metadata === 'rubbish'
        ? Buffer.from([0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 7])
        : assigner(metadata).protocol({ topics: ['topic'] }).metadata,
  }))
  const answers = await assigner({ holds: false, sinceMs: 0, missing: 0 }).assign({
    members: joined,
    topics: ['topic'],
  })
  return Object.fromEntries(
    answers.map(({ memberId, memberAssignment }) => [
      memberId,
      AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment,
    ]),
  )
}

describe('the leader assigner', () => {
  it('leaves the partition with the complete member that holds it, whichever members join', () => {
    fc.assert(
      fc.property(group, fc.constantFrom('A', 'm5m', 'zzz'), fc.nat(), (others, id, sinceMs) => {
        const standbys = Object.entries(others).map(
          ([key, metadata]) => [key, { ...metadata, holds: false }] as const,
        )
        const members = new Map<string, Candidacy>([...standbys, [id, { holds: true, sinceMs, missing: 0 }]])
        expect(chooseMember(members)).toBe(id)
      }),
    )
  })

  it('prefers the member whose replica lacks least, even to one that holds', () => {
    fc.assert(
      fc.property(group, (members) => {
        const chosen = members[String(chooseMember(new Map(Object.entries(members))))]
        for (const { missing } of Object.values(members)) {
          expect(chosen?.missing).toBeLessThanOrEqual(missing)
        }
      }),
    )
  })

  it('takes a member of a version that does not report it for complete', async () => {
    const filling = { holds: true, sinceMs: 1, missing: 7 }
    expect(await assigned({ filling, old: { holds: false, sinceMs: 2 } })).toEqual({
      filling: {},
      old: { topic: [0] },
    })
  })

  it('assigns a free partition to the member that waits longest, in any order of members', () => {
    fc.assert(
      fc.property(group, (members) => {
        const all = Object.entries(members).map(
          ([id, metadata]) => [id, { ...metadata, missing: 0 }] as const,
        )
        const chosen = chooseMember(new Map(all))
        expect(chooseMember(new Map(all.toReversed()))).toBe(chosen)
        const best = members[String(chosen)]
        for (const [, other] of all) {
          if (other.holds === best?.holds) expect(other.sinceMs).toBeGreaterThanOrEqual(best.sinceMs)
          else expect(best?.holds).toBe(true)
        }
      }),
    )
  })

  it('chooses no member of an empty group', () => {
    expect(chooseMember(new Map())).toBeNull()
  })

  it('answers every member in bytes that kafkajs decodes', async () => {
    expect(
      await assigned({
        old: { holds: false, sinceMs: 1 },
        holder: { holds: true, sinceMs: 2 },
        odd: 'rubbish',
      }),
    ).toEqual({ old: {}, holder: { topic: [0] }, odd: {} })
    expect(await assigned({ odd: 'rubbish' })).toEqual({ odd: { topic: [0] } })
  })

  it('puts a member with unreadable metadata last', () => {
    for (const text of ['', 'null', '[]', '{"holds":1}', '{"holds":true,"sinceMs":"1"}']) {
      const { sinceMs, ...others } = readCandidacy(Buffer.from(text))
      expect([sinceMs, others]).toEqual([
        Number.MAX_SAFE_INTEGER,
        { holds: false, missing: Number.MAX_SAFE_INTEGER },
      ])
    }
    expect(readCandidacy(undefined).holds).toBe(false)
  })
})
