import { describe, expect, it } from 'vitest'
import type { Committed } from '../../../src/core/event.ts'
import type { PartitionClient } from '../../../src/log-kafka/client/kafkajs-internals.ts'
import type { KafkaRecord } from '../../../src/log-kafka/client/partition-protocol.ts'
import { eventRecord, type NewRecord } from '../../../src/log-kafka/client/records.ts'
import {
  type ResolvingParts,
  resolveState,
  resolveTopics,
} from '../../../src/log-kafka/writer/hanging-transactions.ts'
import type { KafkaWriterState } from '../../../src/log-kafka/writer/writer-state.ts'
import { sampleEvent } from '../../log/samples.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

/** A topic on a broker: its completed transactions, and its hanging ones. */
interface Lying {
  decided: NewRecord[]
  waiting: NewRecord[]
}

/** A resolver over topics of the prefix `p`, and the decisions made. */
function over(topics: Record<string, Lying>): { parts: ResolvingParts; decisions: string[][] } {
  const decisions: string[][] = []
  const lying = (topic: string): Lying => topics[topic.slice(2)] ?? { decided: [], waiting: [] }
  const records = (list: NewRecord[]): KafkaRecord[] =>
    list.map(({ key, value, headers = {} }, offset) => ({
      offset,
      timestampMs: 0,
      key: key === null ? null : Buffer.from(key),
      value: value === null ? null : Buffer.from(value),
      headers: Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)])),
    }))
  const client: Pick<PartitionClient, 'fetch' | 'offsets' | 'unstable' | 'resolveTransaction'> = {
    async fetch(topic, offset, { readUncommitted = false }) {
      const { decided, waiting } = lying(topic)
      const seen = readUncommitted ? [...decided, ...waiting] : decided
      return {
        errorCode: 0,
        records: records(seen).filter((record) => record.offset >= offset),
        nextOffset: seen.length,
        lastStableOffset: decided.length,
      }
    },
    async offsets(topic) {
      const { decided, waiting } = lying(topic)
      return { earliest: 0, lastStable: decided.length, end: decided.length + waiting.length }
    },
    async unstable(names) {
      return names
        .map((topic) => ({ topic, from: lying(topic).decided.length, waiting: lying(topic).waiting.length }))
        .filter(({ waiting }) => waiting > 0)
        .map(({ topic, from, waiting }) => ({ topic, from, end: from + waiting }))
    },
    async resolveTransaction(_, topic, end) {
      decisions.push([topic, end])
    },
  }
  const read: ResolvingParts['read'] = (_, work) => work(client as PartitionClient)
  return {
    parts: { prefix: 'p', transactionalId: 'p.writer', logger: keepingLogger().logger, read },
    decisions,
  }
}

function event(sequence: number, topicSequence = sequence): NewRecord {
  const committed: Committed = { ...sampleEvent(sequence), sequence, epoch: 'AAAAAAAA' }
  return eventRecord(committed, topicSequence)
}

function sequenceRow(sequence: number): NewRecord {
  return { partition: 0, key: 'head/sequence', value: String(sequence) }
}

describe('a hanging transaction of the writer state', () => {
  const stateOf = async (all: Lying, waiting: NewRecord[]): Promise<string[][]> => {
    const { parts, decisions } = over({ all, 'internal.state': { decided: [], waiting } })
    expect(await resolveState(parts)).toBe(waiting.length > 0)
    return decisions
  }

  it('is committed if its events are visible', async () => {
    const all = { decided: [event(1), event(2)], waiting: [] }
    expect(await stateOf(all, [sequenceRow(2)])).toEqual([['p.internal.state', 'commit']])
  })

  it('is committed if its events hang too', async () => {
    const all = { decided: [event(1)], waiting: [event(2), event(3)] }
    expect(await stateOf(all, [sequenceRow(3)])).toEqual([['p.internal.state', 'commit']])
  })

  it('is aborted if its events are missing', async () => {
    const all = { decided: [event(1)], waiting: [] }
    expect(await stateOf(all, [sequenceRow(3)])).toEqual([['p.internal.state', 'abort']])
  })

  it('is committed if it has no events, so that no spent unit is lost', async () => {
    const spent: NewRecord = { partition: 0, key: 'ledger/0', value: '{"poll":1}' }
    expect(await stateOf({ decided: [], waiting: [] }, [spent])).toEqual([['p.internal.state', 'commit']])
  })

  it('is not found if every transaction has ended', async () => {
    expect(await stateOf({ decided: [event(1)], waiting: [] }, [])).toEqual([])
  })
})

describe('hanging transactions of topics', () => {
  const state: KafkaWriterState = {
    earlier: null,
    place: { epoch: 'AAAAAAAA', sequence: 5 },
    counts: new Map([
      ['fca.REN', 2],
      ['gaps', 1],
    ]),
    choices: new Map(),
  }

  it('are committed as far as the writer state counts their events, and aborted beyond', async () => {
    const { parts, decisions } = over({
      all: { decided: [event(4)], waiting: [event(5)] },
      'fca.REN': { decided: [event(2, 1)], waiting: [event(5, 2)] },
      gaps: { decided: [event(3, 1)], waiting: [event(6, 2)] },
      rejected: { decided: [], waiting: [{ partition: 0, key: null, value: '{' }] },
      'native.ME': { decided: [event(1)], waiting: [] },
    })
    const topics = ['all', 'fca.REN', 'gaps', 'rejected', 'native.ME']
    expect(await resolveTopics(parts, topics, state)).toBe(true)
    expect(decisions).toEqual([
      ['p.all', 'commit'],
      ['p.fca.REN', 'commit'],
      ['p.gaps', 'abort'],
      ['p.rejected', 'commit'],
    ])
  })

  it('are judged by their events, not by a record of another program among them', async () => {
    const foreign: NewRecord = { partition: 0, key: 'foreign', value: 'hello' }
    const { parts, decisions } = over({ gaps: { decided: [event(3, 1)], waiting: [foreign, event(6, 2)] } })
    expect(await resolveTopics(parts, ['gaps'], state)).toBe(true)
    expect(decisions).toEqual([['p.gaps', 'abort']])
  })
})
