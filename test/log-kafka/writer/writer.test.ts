import { describe, expect, it } from 'vitest'
import { HOUR_MS } from '../../../src/core/durations.ts'
import { BridgeError } from '../../../src/errors.ts'
import { RejectedLimit } from '../../../src/log-kafka/writer/rejected-limit.ts'
import { KafkaWriter } from '../../../src/log-kafka/writer/writer.ts'
import {
  type KafkaWriterState,
  readStateRows,
  stateRows,
} from '../../../src/log-kafka/writer/writer-state.ts'
import { sampleEvent } from '../../log/samples.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const UNUSED: KafkaWriterState = {
  earlier: null,
  place: { epoch: 'AAAAAAAA', sequence: 0 },
  counts: new Map(),
  choices: new Map(),
}

/** A writer whose transactions are recorded, and fail with `outcome.fault` if set. */
function writerOver(
  createTopics: (topics: readonly string[]) => Promise<void> = async () => undefined,
  { unavailable = [], state = UNUSED }: { unavailable?: string[]; state?: KafkaWriterState } = {},
) {
  const clock = createManualClock()
  const { logger, lines } = keepingLogger()
  const closing = new AbortController()
  const written: Map<string, readonly { key: string | null }[]>[] = []
  const outcome = { fault: null as Error | null, ends: 0 }
  const transactions = {
    fence: async () => undefined,
    async run(records: ReadonlyMap<string, readonly { key: string | null }[]>) {
      if (outcome.fault !== null) throw outcome.fault
      written.push(new Map(records))
    },
    end() {
      outcome.ends += 1
    },
  }
  const parts = {
    ...{ prefix: 'p', nativeKind: 'Native', clock, logger, transactions, createTopics, token: 'n' },
    ...{ known: new Set<string>(), unavailable: new Set(unavailable), closed: closing.signal },
    rejectedLimit: new RejectedLimit(),
  }
  const writer = new KafkaWriter(parts, state, new Map())
  return {
    writer,
    clock,
    lines,
    written,
    outcome,
  }
}

/** The rows of the state topic after these transactions. */
function stateAfter(written: readonly Map<string, readonly { key: string | null }[]>[]): Map<string, string> {
  const rows = new Map<string, string>([['head/epoch', '"AAAAAAAA"']])
  for (const records of written) {
    for (const record of records.get('p.internal.state') ?? []) {
      rows.set(String(record.key), 'value' in record ? String(record.value) : '')
    }
  }
  return rows
}

const fca = (...codes: string[]) => {
  const category = codes.map((code) => ({ kind: 'FCA', code }))
  return {
    ...sampleEvent(1),
    data: JSON.stringify({ guid: 'g', timestamp: '2026-01-06T07:00:00Z', category }),
  }
}

describe('a writer on Kafka', () => {
  it('begins an epoch in which sequences go on, and remembers the epochs before', async () => {
    const { writer, written } = writerOver()
    await writer.commit({ events: [sampleEvent(1), sampleEvent(2)] })
    const epoch = await writer.beginEpoch(new Map([['ledger/0', '{}']]))
    expect(epoch).not.toBe('AAAAAAAA')
    const rows = new Map(
      (written.at(-1)?.get('p.internal.state') ?? []).map((row) => [
        row.key,
        'value' in row ? row.value : null,
      ]),
    )
    expect([...(written.at(-1)?.keys() ?? [])]).toEqual(['p.internal.state'])
    const earlier = { through: 2, epochs: { AAAAAAAA: 2 } }
    expect(rows).toEqual(
      new Map([
        ['head/epoch', JSON.stringify(epoch)],
        ['ledger/0', '{}'],
        ['head/earlier', JSON.stringify(earlier)],
      ]),
    )
    const [event] = await writer.commit({ events: [sampleEvent(3)] })
    expect(event).toMatchObject({ sequence: 3, epoch })
    expect(readStateRows(new Map([...stateAfter(written)]))?.state).toMatchObject({
      place: { epoch, sequence: 3 },
      earlier,
    })
  })

  it('writes a record at least hourly, and nothing more after its end', async () => {
    const { writer, clock, written } = writerOver()
    clock.advance(HOUR_MS)
    await expect.poll(() => written).toHaveLength(1)
    expect(written.map((records) => [...records])).toEqual([
      [['p.internal.state', [{ partition: 0, key: 'nonce', value: 'n' }]]],
    ])
    await writer.release()
    clock.advance(3 * HOUR_MS)
    await expect(writer.commit({ events: [] })).rejects.toMatchObject({ code: 'log_fenced' })
    expect(written).toHaveLength(1)
  })

  it('discards its producer at the first error, and at its end', async () => {
    const { writer, outcome } = writerOver()
    outcome.fault = new Error('no answer')
    await expect(writer.commit({ events: [] })).rejects.toMatchObject({ code: 'log_unknown' })
    expect(outcome.ends).toBeGreaterThan(0)
    const other = writerOver()
    await other.writer.release()
    expect(other.outcome.ends).toBeGreaterThan(0)
  })

  it('is fenced by each of Kafka’s fencing errors, however deeply nested', async () => {
    const codes = [{ code: 47 }, { code: 49 }, { message: 'Unknown error code 90' }]
    for (const code of codes) {
      const { writer, outcome } = writerOver()
      outcome.fault = new Error('tried often', { cause: Object.assign(new Error('refused'), code) })
      await expect(writer.commit({ events: [] })).rejects.toMatchObject({ code: 'log_fenced' })
    }
  })

  it('creates a new code’s topic first, and uses the shared one if brokers refuse it', async () => {
    const allowed = writerOver()
    await allowed.writer.commit({ events: [fca('NEW')] })
    expect([...(allowed.written[0]?.keys() ?? [])]).toContain('p.fca.NEW')
    for (const type of ['TOPIC_AUTHORIZATION_FAILED', 'INVALID_REPLICATION_FACTOR', 'POLICY_VIOLATION']) {
      const refused = writerOver(async () => {
        const cause = Object.assign(new Error('refused'), { type })
        throw new BridgeError('log_unavailable', 'creating topics failed', { cause })
      })
      await refused.writer.commit({ events: [fca('NEW')] })
      expect([...(refused.written[0]?.keys() ?? [])]).toContain('p.fca._other')
    }
  })

  it('uses the shared topic for a new code whose topic has several partitions, logs that, and creates the others', async () => {
    const cause = new BridgeError('kafka', 'the topic p.fca.ADM has 3 partitions')
    const { writer, written, lines } = writerOver(async (topics) => {
      if (topics.includes('fca.ADM')) throw cause
    })
    await writer.commit({ events: [fca('NEW', 'ADM')] })
    const topics = [...(written[0]?.keys() ?? [])]
    expect(topics).toEqual(['p.all', 'p.fca.NEW', 'p.fca._other', 'p.internal.state'])
    const line = {
      level: 'warn',
      event: 'topic.create_refused',
      fields: { topic: 'p.fca.ADM', error: cause },
    }
    expect(lines).toEqual([line])
    await writer.commit({ events: [fca('ADM')] })
    expect([...(written[1]?.keys() ?? [])]).toContain('p.fca._other')
    expect(lines).toHaveLength(1)
  })

  it('counts an event for a topic that cannot be had, and writes it to the shared topic', async () => {
    const choices = new Map([['fca.ADM', { own: true, atMs: 1 }]])
    const state = { ...UNUSED, choices, counts: new Map([['fca.ADM', 4]]) }
    const { writer, written } = writerOver(undefined, { unavailable: ['fca.ADM'], state })
    await writer.commit({ events: [fca('ADM', 'ADM.')] })
    const [records] = written
    expect([...(records?.keys() ?? [])]).toEqual(['p.all', 'p.fca._other', 'p.fca.ADM_', 'p.internal.state'])
    expect(records?.get('p.internal.state')).toContainEqual({
      partition: 0,
      key: 'count/fca.ADM',
      value: '5',
    })
    expect(records?.get('p.fca._other')).toHaveLength(1)
  })
})

it('writes counts before the sequence, and the rows of its caller last, in their order', () => {
  const after = { ...UNUSED, place: { epoch: 'AAAAAAAA', sequence: 1 }, counts: new Map([['fca.IOE', 1]]) }
  const rows = stateRows(
    UNUSED,
    after,
    new Map([
      ['b', '1'],
      ['a', '2'],
    ]),
  )
  expect([...rows.keys()]).toEqual(['count/fca.IOE', 'head/sequence', 'b', 'a'])
})
