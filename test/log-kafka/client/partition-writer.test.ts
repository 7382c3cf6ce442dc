import { describe, expect, it } from 'vitest'
import { type Clock, systemClock, yieldToEventLoop } from '../../../src/lifecycle/clock.ts'
import type { KafkaSession } from '../../../src/log-kafka/client/client.ts'
import type { AppendedRecord } from '../../../src/log-kafka/client/partition-protocol.ts'
import { type Append, PartitionWriter } from '../../../src/log-kafka/client/partition-writer.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

type Round = ReadonlyMap<number, readonly AppendedRecord[]>

/** A writer to two brokers that lead every other partition; `answer` returns their errors, or throws. The next offset is 7. */
function writing(
  answer: (round: Round, nodeId: string) => Promise<Map<number, Error>>,
  clock: Clock = systemClock,
) {
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
          const appended = [...round.keys()].map((partition): [number, number] => [partition, 7])
          return new Map<number, number | Error>([...appended, ...refused])
        },
      },
      end: () => undefined,
    }) as unknown as KafkaSession
  const writer = new PartitionWriter({ openSession, clock }, 'topic', ended.signal)
  const failures: string[] = []
  const append = (partition: number, key: string, how: Partial<Append> = {}): void => {
    const records = [{ partition, key, value: 'x' }]
    const onFailure = (error: unknown): void => void failures.push(`${key} ${(error as Error).message}`)
    writer.append({ partition, records, once: false, isCancelled: () => false, onFailure, ...how })
  }
  return { append, arrived, failures, end: () => ended.abort(), writer }
}

const arrivedOf = (arrived: readonly string[], partition: number): string[] =>
  arrived.filter((one) => one.startsWith(`${partition}:`)).map((one) => one.slice(2))

describe('the writer of partitions', () => {
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

  it('repeats neither appends marked to be sent once nor cancelled ones', async () => {
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

  const record = (key: string) => ({ partition: 0, key, value: 'x' })

  it('gives each record of a batch its own offset', async () => {
    const { append, writer, end } = writing(async () => new Map())
    append(0, 'first')
    expect(await Promise.all([writer.write(record('a')), writer.write(record('b'))])).toEqual([8, 9])
    end()
  })

  it('fails a write at once on a non-retriable error of the broker, and sends it once', async () => {
    const refusal = Object.assign(new Error('not yours'), {
      ...{ type: 'TOPIC_AUTHORIZATION_FAILED', retriable: false },
    })
    let calls = 0
    const { writer, end } = writing(async () => new Map(calls++ === 0 ? [[0, refusal]] : []))
    await expect(writer.write(record('a'))).rejects.toMatchObject({
      ...{ code: 'log_unavailable', message: expect.stringContaining('not yours') },
      hint: expect.stringContaining('rights'),
    })
    expect(await writer.write(record('b'))).toBe(7)
    expect(calls).toBe(2)
    end()
  })

  it('repeats a write while brokers are unavailable, for ten seconds', async () => {
    const clock = createManualClock()
    const away = Object.assign(new Error('retries exceeded'), { retriable: false })
    let calls = 0
    const { writer, end } = writing(async () => {
      calls++
      throw away
    }, clock)
    const failed = expect(writer.write(record('a'))).rejects.toMatchObject({ code: 'log_unavailable' })
    for (let passedMs = 0; passedMs < 10_000; passedMs += 100) {
      clock.advance(100)
      await yieldToEventLoop()
    }
    await failed
    expect(calls).toBeGreaterThan(10)
    const before = calls
    clock.advance(1_000)
    await yieldToEventLoop()
    expect(calls).toBe(before)
    end()
  })
})
