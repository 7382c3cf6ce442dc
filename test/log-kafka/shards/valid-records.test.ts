import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KafkaRecord } from '../../../src/log-kafka/client/record-batch.ts'
import type { NewRecord } from '../../../src/log-kafka/client/records.ts'
import {
  createShardFold,
  leavingRecord,
  leftRecord,
  markerRecord,
  rowRecord,
  wishRecord,
} from '../../../src/log-kafka/shards/valid-records.ts'

/** The record as it is read back. */
function readBack(record: NewRecord, offset: number): KafkaRecord {
  const headers = Object.entries(record.headers ?? {}).map(([name, text]) => [name, Buffer.from(text)])
  return {
    offset,
    key: record.key === null ? null : Buffer.from(record.key),
    value: record.value === null ? null : Buffer.from(record.value),
    headers: Object.fromEntries(headers),
  }
}

function folded(records: readonly KafkaRecord[]) {
  const fold = createShardFold()
  for (const record of records) fold.take(record)
  return fold
}

/** A partition, its owner of the moment and those before it, and what it should say. */
function createWorld() {
  let partition: KafkaRecord[] = []
  let nextOffset = 0
  const rows = new Map<string, string>()
  const owners: { nonce: string; number: number; fold: ReturnType<typeof createShardFold> }[] = []
  const owner = () => owners.at(-1)

  const append = (record: NewRecord): void => {
    const read = readBack(record, nextOffset++)
    partition.push(read)
    owner()?.fold.take(read)
  }
  const put = (by: { nonce: string; number: number }, key: string, text: string | null): void => {
    by.number += 1
    append(rowRecord(0, { key, text }, by.nonce, by.number))
  }
  /** As the owner does: its own again behind what does not count. */
  const repair = (): void => {
    const own = owner()
    for (const key of own?.fold.late ?? [])
      if (own !== undefined) put(own, key, own.fold.rows.get(key) ?? null)
  }
  return {
    rows,
    read: () => folded(partition),
    owner,
    take() {
      const nonce = `owner${owners.length}`
      const fold = folded(partition)
      owners.push({ nonce, number: 0, fold })
      append(markerRecord(0, nonce))
    },
    write(key: string, text: string | null) {
      const own = owner()
      if (own === undefined) return
      put(own, key, text)
      if (text === null) rows.delete(key)
      else rows.set(key, text)
    },
    lateWrite(which: number, key: string, text: string | null) {
      const former = owners.slice(0, -1).at(which % Math.max(1, owners.length - 1))
      if (owners.length > 1 && former !== undefined) put(former, key, text)
    },
    /** Somebody asks for the shard; an owner of the moment or of before says that it is leaving, or has left. */
    say(which: number, word: 'wish' | 'leaving' | 'left') {
      const record = { wish: wishRecord, leaving: leavingRecord, left: leftRecord }[word]
      append(record(0, owners.at(which % owners.length)?.nonce ?? ''))
    },
    /** A request of rows arrives again. */
    repeat(place: number) {
      const again = partition[place % Math.max(1, partition.length)]
      if (again === undefined || String(again.key) === 'marker') return
      const copy = { ...again, offset: nextOffset++ }
      partition.push(copy)
      owner()?.fold.take(copy)
    },
    repair,
    /** Compaction comes an hour later, so the owner of the moment has answered what does not count. */
    compact(upTo: number) {
      if (owner() === undefined) return
      repair()
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
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('late' as const), which: fc.nat(5), key, text }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('repeat' as const), place: fc.nat(60) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('say' as const),
      which: fc.nat(5),
      word: fc.constantFrom('wish', 'leaving', 'left'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('repair' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('compact' as const), upTo: fc.nat(60) }) },
)

describe('a shard, read from its records', () => {
  it('is what its owners wrote, whatever others write late or twice, and wherever compaction has passed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const world = createWorld()
        world.take()
        for (const one of steps) {
          if (one.kind === 'take') world.take()
          else if (one.kind === 'write') world.write(one.key, one.text)
          else if (one.kind === 'late') world.lateWrite(one.which, one.key, one.text)
          else if (one.kind === 'repeat') world.repeat(one.place)
          else if (one.kind === 'say') world.say(one.which, one.word)
          else if (one.kind === 'repair') world.repair()
          else world.compact(one.upTo)
          const fold = world.read()
          expect(new Map(fold.rows)).toEqual(world.rows)
          expect(fold.nonce).toBe(world.owner()?.nonce)
          expect(new Map(world.owner()?.fold.rows)).toEqual(world.rows)
        }
        world.repair()
        expect(world.read().late.size).toBe(0)
      }),
      { numRuns: 120 },
    )
  })

  it('counts by the number of the row since the latest marker', () => {
    const write = (number: number, text: string): KafkaRecord =>
      readBack(rowRecord(0, { key: 'k', text }, 'n', number), 0)
    const fold = folded([readBack(markerRecord(0, 'n'), 0), write(1, '1'), write(3, '3'), write(2, '2')])
    expect([fold.number, fold.rows.get('k'), [...fold.late]]).toEqual([3, '3', ['k']])
    fold.take(write(4, '4'))
    expect([fold.number, fold.rows.get('k'), [...fold.late]]).toEqual([4, '4', []])
    fold.take(readBack(markerRecord(0, 'other'), 0))
    expect([fold.nonce, fold.number]).toEqual(['other', 0])
  })

  it('is held from the marker on, and free again when its owner has left; others’ words mean nothing', () => {
    const records = [
      [leftRecord(0, 'n'), 'free'],
      [markerRecord(0, 'n'), 'held'],
      [leavingRecord(0, 'before'), 'held'],
      [leftRecord(0, 'before'), 'held'],
      [leavingRecord(0, 'n'), 'leaving'],
      [rowRecord(0, { key: 'k', text: '1' }, 'n', 1), 'leaving'],
      [wishRecord(0, 'next'), 'leaving'],
      [leftRecord(0, 'n'), 'free'],
      [markerRecord(0, 'next'), 'held'],
      [leftRecord(0, 'n'), 'held'],
    ] as const
    const fold = createShardFold()
    for (const [offset, [record, state]] of records.entries()) {
      fold.take(readBack(record, offset))
      expect([record.key, fold.state]).toEqual([record.key, state])
    }
    expect([fold.wish, fold.rows.get('k')]).toEqual(['next', '1'])
    for (const by of ['next', 'n', 'next']) fold.take(readBack(leavingRecord(0, by), 20))
    expect(fold.leavings).toBe(2)
  })

  it.each([
    ['without a mark of its writer', { partition: 0, key: '=k', value: '1' }],
    ['without a number', { partition: 0, key: '=k', value: '1', headers: { by: 'n x' } }],
    ['with another key', { partition: 0, key: 'k', value: '1', headers: { by: 'n 1' } }],
    ['without a key', { partition: 0, key: null, value: '1' }],
  ])('is damaged by a record %s', (_what, record) => {
    expect(() => folded([readBack(record, 7)])).toThrow(
      expect.objectContaining({ code: 'log_damaged', message: expect.stringContaining('record 7') }),
    )
  })
})
