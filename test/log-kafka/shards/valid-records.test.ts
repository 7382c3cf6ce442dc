import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KafkaRecord } from '../../../src/log-kafka/client/partition-protocol.ts'
import type { NewRecord } from '../../../src/log-kafka/client/records.ts'
import {
  type ControlKind,
  controlRecord,
  rowRecord,
  ShardFold,
} from '../../../src/log-kafka/shards/valid-records.ts'

/** The record as it is read back. */
function readBack(record: NewRecord, offset: number): KafkaRecord {
  const headers = Object.entries(record.headers ?? {}).map(([name, text]) => [name, Buffer.from(text)])
  return {
    offset,
    timestampMs: 0,
    key: record.key === null ? null : Buffer.from(record.key),
    value: record.value === null ? null : Buffer.from(record.value),
    headers: Object.fromEntries(headers),
  }
}

function folded(records: readonly KafkaRecord[]) {
  const fold = new ShardFold()
  for (const record of records) fold.take(record)
  return fold
}

/** A partition, its present and former owners, and its expected rows. */
function createWorld() {
  let partition: KafkaRecord[] = []
  let nextOffset = 0
  const rows = new Map<string, string>()
  const owners: { token: string; number: number; fold: ShardFold }[] = []
  const owner = () => owners.at(-1)

  const append = (record: NewRecord): void => {
    const read = readBack(record, nextOffset++)
    partition.push(read)
    owner()?.fold.take(read)
  }
  const put = (by: { token: string; number: number }, key: string, text: string | null): void => {
    by.number += 1
    append(rowRecord(0, { key, text }, by.token, by.number))
  }
  /** Rewrites stale rows, as the owner does. */
  const rewriteStale = (): void => {
    const own = owner()
    for (const key of own?.fold.staleKeys ?? [])
      if (own !== undefined) put(own, key, own.fold.rows.get(key) ?? null)
  }
  return {
    rows,
    read: () => folded(partition),
    owner,
    take() {
      const token = `owner${owners.length}`
      const fold = folded(partition)
      owners.push({ token, number: 0, fold })
      append(controlRecord(0, 'epoch', token))
    },
    write(key: string, text: string | null) {
      const own = owner()
      if (own === undefined) return
      put(own, key, text)
      if (text === null) rows.delete(key)
      else rows.set(key, text)
    },
    fencedWrite(which: number, key: string, text: string | null) {
      const former = owners.slice(0, -1).at(which % Math.max(1, owners.length - 1))
      if (owners.length > 1 && former !== undefined) put(former, key, text)
    },
    /** A process requests the shard; a present or former owner is releasing, or has released it. */
    control(which: number, kind: ControlKind) {
      append(controlRecord(0, kind, owners.at(which % owners.length)?.token ?? ''))
    },
    /** A write request arrives a second time. */
    repeat(place: number) {
      const again = partition[place % Math.max(1, partition.length)]
      if (again === undefined || String(again.key) === 'marker') return
      const copy = { ...again, offset: nextOffset++ }
      partition.push(copy)
      owner()?.fold.take(copy)
    },
    rewriteStale,
    /** Compaction runs an hour later, when the owner has rewritten stale rows. */
    compact(upTo: number) {
      if (owner() === undefined) return
      rewriteStale()
      const place = upTo % (partition.length + 1)
      const last = new Map(partition.slice(0, place).map(({ key, offset }) => [String(key), offset]))
      const kept = partition.slice(0, place).filter(({ key, value, offset }) => {
        return last.get(String(key)) === offset && value !== null
      })
      partition = [...kept, ...partition.slice(place)]
    },
  }
}

const key = fc.constantFrom('a', 'b', 'c')
const text = fc.option(fc.constantFrom('1', '2', '3', '4'), { nil: null })
const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('take' as const) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('write' as const), key, text }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('fenced' as const), which: fc.nat(5), key, text }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('repeat' as const), place: fc.nat(60) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('control' as const),
      which: fc.nat(5),
      control: fc.constantFrom('acquire', 'releasing', 'released'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rewriteStale' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('compact' as const), upTo: fc.nat(60) }) },
)

describe('a shard loaded from its records', () => {
  it('contains what its owners wrote, despite late or duplicate writes of fenced owners, and wherever compaction has passed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const world = createWorld()
        world.take()
        for (const one of steps) {
          if (one.kind === 'take') world.take()
          else if (one.kind === 'write') world.write(one.key, one.text)
          else if (one.kind === 'fenced') world.fencedWrite(one.which, one.key, one.text)
          else if (one.kind === 'repeat') world.repeat(one.place)
          else if (one.kind === 'control') world.control(one.which, one.control)
          else if (one.kind === 'rewriteStale') world.rewriteStale()
          else world.compact(one.upTo)
          const fold = world.read()
          expect(new Map(fold.rows)).toEqual(world.rows)
          expect(fold.token).toBe(world.owner()?.token)
          expect(new Map(world.owner()?.fold.rows)).toEqual(world.rows)
        }
        world.rewriteStale()
        expect(world.read().staleKeys.size).toBe(0)
      }),
      { numRuns: 120 },
    )
  })

  it('orders rows by their number since the latest epoch record', () => {
    const write = (number: number, text: string): KafkaRecord =>
      readBack(rowRecord(0, { key: 'k', text }, 'n', number), 0)
    const fold = folded([
      readBack(controlRecord(0, 'epoch', 'n'), 0),
      write(1, '1'),
      write(3, '3'),
      write(2, '2'),
    ])
    expect([fold.number, fold.rows.get('k'), [...fold.staleKeys]]).toEqual([3, '3', ['k']])
    fold.take(write(4, '4'))
    expect([fold.number, fold.rows.get('k'), [...fold.staleKeys]]).toEqual([4, '4', []])
    fold.take(readBack(controlRecord(0, 'epoch', 'other'), 0))
    expect([fold.token, fold.number]).toEqual(['other', 0])
  })

  it('keeps the row of its present owner: one of a former owner does not undo it, however late it is written', () => {
    const row = (token: string, number: number, text: string) =>
      readBack(rowRecord(0, { key: 'k', text }, token, number), 0)
    const fold = folded([
      readBack(controlRecord(0, 'epoch', 'former'), 0),
      row('former', 1, 'old'),
      readBack(controlRecord(0, 'epoch', 'present'), 0),
      row('present', 1, 'new'),
      row('former', 2, 'late'),
    ])
    expect([fold.rows.get('k'), fold.number, [...fold.staleKeys]]).toEqual(['new', 1, ['k']])
  })

  it('is owned from the epoch record on, and free when its owner released it; control records of others are ignored', () => {
    const records = [
      [controlRecord(0, 'released', 'n'), 'free'],
      [controlRecord(0, 'epoch', 'n'), 'held'],
      [controlRecord(0, 'releasing', 'before'), 'held'],
      [controlRecord(0, 'released', 'before'), 'held'],
      [controlRecord(0, 'releasing', 'n'), 'releasing'],
      [rowRecord(0, { key: 'k', text: '1' }, 'n', 1), 'releasing'],
      [controlRecord(0, 'acquire', 'next'), 'releasing'],
      [controlRecord(0, 'released', 'n'), 'free'],
      [controlRecord(0, 'epoch', 'next'), 'held'],
      [controlRecord(0, 'released', 'n'), 'held'],
    ] as const
    const fold = new ShardFold()
    for (const [offset, [record, state]] of records.entries()) {
      fold.take(readBack(record, offset))
      expect([record.key, fold.state]).toEqual([record.key, state])
    }
    expect([fold.acquiring, fold.rows.get('k')]).toEqual(['next', '1'])
    for (const by of ['next', 'n', 'next']) fold.take(readBack(controlRecord(0, 'releasing', by), 20))
    expect(fold.releasingCount).toBe(2)
  })

  it.each([
    ['without a fencing token', { partition: 0, key: '=k', value: '1' }],
    ['without a number', { partition: 0, key: '=k', value: '1', headers: { by: 'n x' } }],
    ['with another key', { partition: 0, key: 'k', value: '1', headers: { by: 'n 1' } }],
    ['without a key', { partition: 0, key: null, value: '1' }],
  ])('is damaged by a record %s', (_what, record) => {
    expect(() => folded([readBack(record, 7)])).toThrow(
      expect.objectContaining({ code: 'log_damaged', message: expect.stringContaining('record 7') }),
    )
  })
})
