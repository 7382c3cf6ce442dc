import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import type { KafkaSession } from '../../../src/log-kafka/client/client.ts'
import type { AppendedRecord } from '../../../src/log-kafka/client/partition-protocol.ts'
import { type Append, ShardWriter } from '../../../src/log-kafka/shards/shard-writer.ts'

type Round = ReadonlyMap<number, readonly AppendedRecord[]>

/** A writer to two brokers that lead every other partition; `answer` is what they refuse, or throws. */
function writing(answer: (round: Round, nodeId: string) => Promise<Map<number, Error>>) {
  const ended = new AbortController()
  const arrived: string[] = []
  const openSession = (): KafkaSession =>
    ({
      partitions: {
        leaders: async (_topic: string, partitions: readonly number[]) => {
          return Map.groupBy(partitions, (partition) => String(partition % 2))
        },
        append: async (nodeId: string, _topic: string, round: Round) => {
          const refused = await answer(round, nodeId)
          for (const [partition, records] of round) {
            if (!refused.has(partition)) arrived.push(...records.map(({ key }) => `${partition}:${key}`))
          }
          return refused
        },
      },
      end: () => undefined,
    }) as unknown as KafkaSession
  const writer = new ShardWriter({ openSession, clock: systemClock }, 'topic', ended.signal)
  const failures: string[] = []
  const append = (partition: number, key: string, how: Partial<Append> = {}): void => {
    const records = [{ partition, key, value: 'x' }]
    const onFailure = (error: unknown): void => void failures.push(`${key} ${(error as Error).message}`)
    writer.append({ partition, records, once: false, isCancelled: () => false, onFailure, ...how })
  }
  return { append, arrived, failures, end: () => ended.abort() }
}

const arrivedOf = (arrived: readonly string[], partition: number): string[] =>
  arrived.filter((one) => one.startsWith(`${partition}:`)).map((one) => one.slice(2))

describe('the writer of shards', () => {
  it('batches concurrent appends into one request per broker, and keeps the order of each shard', async () => {
    const rounds: Round[] = []
    const { append, arrived, end } = writing(async (round) => {
      rounds.push(round)
      return new Map()
    })
    for (let n = 0; n < 20; n++) append(n % 4, `k${n}`)
    await expect.poll(() => arrived.length).toBe(20)
    expect(rounds.map((round) => round.size)).toEqual([2, 2])
    expect(arrivedOf(arrived, 3)).toEqual(['k3', 'k7', 'k11', 'k15', 'k19'])
    end()
  })

  it('repeats failed appends before later ones, and sends successful ones once', async () => {
    let call = 0
    const { append, arrived, failures, end } = writing(async (round, nodeId) => {
      call++
      if (call === 1) append(0, 'later')
      if (nodeId === '0' && call < 4) throw new Error('away')
      return call < 6 && round.has(1) ? new Map([[1, new Error('no leader')]]) : new Map()
    })
    append(0, 'first')
    append(0, 'second')
    append(1, 'other')
    append(3, 'fine')
    await expect.poll(() => arrived.length).toBe(5)
    expect(arrivedOf(arrived, 0)).toEqual(['first', 'second', 'later'])
    expect(arrivedOf(arrived, 3)).toEqual(['fine'])
    expect(failures).toContain('first away')
    expect(failures).toContain('other no leader')
    end()
  })

  it('repeats neither appends to be sent once nor cancelled ones', async () => {
    let call = 0
    let over = false
    const { append, arrived, failures, end } = writing(async () => {
      if (call++ > 0) return new Map()
      over = true
      throw new Error('away')
    })
    append(0, 'epoch', { once: true })
    append(0, 'row')
    append(0, 'given up', { isCancelled: () => over })
    await expect.poll(() => arrived.length).toBe(1)
    expect(arrived).toEqual(['0:row'])
    expect(failures).toEqual(['epoch away', 'row away', 'given up away'])
    end()
  })
})
