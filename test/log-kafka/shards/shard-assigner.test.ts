import fc from 'fast-check'
import { AssignerProtocol, type Cluster, type Logger } from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { assignShards, readHeld, shardAssigner } from '../../../src/log-kafka/shards/shard-assigner.ts'

const COUNT = 16
const group = fc.dictionary(
  fc.stringMatching(/^[a-z][0-9]{0,2}$/),
  fc.array(fc.integer({ min: -2, max: COUNT + 2 })),
  {
    minKeys: 1,
    maxKeys: 20,
  },
)

const sorted = (shards: Iterable<number>): number[] => [...shards].sort((one, other) => one - other)
const all = Array.from({ length: COUNT }, (_, shard) => shard)

describe('the shard assigner', () => {
  it('assigns each shard to one member, and every member the same number, plus or minus one', () => {
    fc.assert(
      fc.property(group, (members) => {
        const assigned = assignShards(new Map(Object.entries(members)), COUNT)
        expect(sorted([...assigned.values()].flat())).toEqual(all)
        const sizes = [...assigned.values()].map((shards) => shards.length)
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
        expect([...assigned.keys()].sort()).toEqual(Object.keys(members).sort())
      }),
    )
  })

  it('is independent of the order of members, and moves nothing when repeated', () => {
    fc.assert(
      fc.property(group, (members) => {
        const assigned = assignShards(new Map(Object.entries(members)), COUNT)
        expect(assignShards(new Map(Object.entries(members).toReversed()), COUNT)).toEqual(assigned)
        const again = assignShards(assigned, COUNT)
        for (const [id, shards] of assigned) expect(sorted(again.get(id) ?? [])).toEqual(sorted(shards))
      }),
    )
  })

  it('moves no more shards than necessary when members join and leave', () => {
    const sizes = fc.tuple(
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 0, max: 9 }),
      fc.integer({ min: 0, max: 9 }),
    )
    fc.assert(
      fc.property(sizes, ([before, left, joined]) => {
        const ids = Array.from({ length: before }, (_, n) => `m${n}`)
        const standing = assignShards(new Map(ids.map((id) => [id, []])), COUNT)
        const stay = ids.slice(Math.min(left, before - 1))
        const members = new Map(stay.map((id) => [id, standing.get(id) ?? []]))
        for (let n = 0; n < joined; n++) members.set(`new${n}`, [])
        const assigned = assignShards(members, COUNT)
        const kept = stay.flatMap((id) =>
          (assigned.get(id) ?? []).filter((shard) => standing.get(id)?.includes(shard)),
        )
        // The members with the most shards may keep one more: the others get the even share.
        const parts = [...members.values()].map((shards) => shards.length).sort((one, other) => other - one)
        const fair = parts.map(
          (_, place) => Math.floor(COUNT / parts.length) + (place < COUNT % parts.length ? 1 : 0),
        )
        const most = parts.reduce((sum, held, place) => sum + Math.min(held, fair[place] ?? 0), 0)
        expect(kept).toHaveLength(most)
      }),
    )
  })

  it('answers every member in bytes that kafkajs decodes', async () => {
    const assigner = (held: readonly number[]) =>
      shardAssigner(4, () => held)({ cluster: {} as Cluster, groupId: 'group', logger: {} as Logger })
    const joined = Object.entries({ a: [0, 1, 2, 3], b: [] }).map(([memberId, held]) => ({
      memberId,
      memberMetadata: assigner(held).protocol({ topics: ['topic'] }).metadata,
    }))
    const rubbish = { memberId: 'c', memberMetadata: Buffer.from([0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 7]) }
    const answers = await assigner([]).assign({ members: [...joined, rubbish], topics: ['topic'] })
    const shards = answers.map(({ memberId, memberAssignment }) => [
      memberId,
      AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment.topic,
    ])
    expect(Object.fromEntries(shards)).toEqual({ a: [0, 1], b: [2], c: [3] })
  })

  it('reads unreadable metadata as no shards', () => {
    for (const text of ['', 'null', '{}', '"1"', '[1.5, "2", null]'])
      expect(readHeld(Buffer.from(text))).toEqual([])
    expect(readHeld(undefined)).toEqual([])
    expect(readHeld(Buffer.from('[3, 1]'))).toEqual([3, 1])
  })
})
