/**
 * Tests the contract of src/log/log.ts for shards, over any adapter. What only several processes show is in the
 * adapters' own tests.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { aborted } from '../../src/lifecycle/aborted.ts'
import type { Log } from '../../src/log/log.ts'
import { LARGEST_ROW_BYTES, type Shard } from '../../src/log/shards.ts'
import { beginOwning, foundBy, putRow, puts, type Row } from './owning.ts'
import type { OpenLog } from './takeovers.ts'

/** Few, because some adapters need time for each. */
const COUNT = 3

/** Runs the suite over logs that `open` makes. */
export function describeShards(name: string, open: OpenLog): void {
  describe(`shards on the ${name} log`, () => {
    let log: Log
    beforeEach(async () => {
      log = await open({})
    })
    afterEach(() => log.close())

    const own = () => beginOwning(log, 'words', COUNT)
    const found = () => foundBy(log, 'words', COUNT)
    const lost = expect.objectContaining({ code: 'shard_lost' })

    it('are all assigned to the only owner, each once and empty at first', async () => {
      const owner = own()
      await owner.holds(COUNT)
      expect(owner.came.map(({ number }) => number).sort()).toEqual([0, 1, 2])
      for (const { rows, lost } of owner.came) expect([rows.size, lost.aborted]).toEqual([0, false])
      await owner.stop()
    })

    it('give the next owner exactly the written rows: the latest of each key, and no deleted ones', async () => {
      const owner = own()
      const shard = await owner.shard(1)
      const odd = { '': 0, '=/ "\n\u2028é😀': ['x', null, { a: '\u0000' }], null: false }
      await shard.write([...puts({ a: 1, b: 1, c: 1 }), ...puts({ a: 2 }), { key: 'b', value: null }])
      await shard.write([...puts(odd), { key: 'never', value: null }])
      await putRow(shard, 'c', { deep: [1] })
      await putRow(await owner.shard(2), 'a', 'of another shard')
      expect(shard.rows.size).toBe(0)
      await owner.stop()
      expect(await found()).toEqual([{}, { a: 2, c: { deep: [1] }, ...odd }, { a: 'of another shard' }])
      expect(await foundBy(log, 'other', 2)).toEqual([{}, {}])
    })

    it('apply concurrent calls in order', async () => {
      const owner = own()
      await owner.holds(COUNT)
      const writes = Array.from({ length: 300 }, (_, n) => {
        const shard = owner.held.get(n % COUNT) as Shard<Row>
        return shard.write([...puts({ last: n, [`key ${n}`]: n }), { key: `key ${n - 30}`, value: null }])
      })
      await Promise.all(writes)
      await owner.stop()
      const [first, second, third] = await found()
      expect([first?.last, second?.last, third?.last]).toEqual([297, 298, 299])
      expect(Object.keys(first ?? {})).toHaveLength(11)
    })

    it('hold large rows, and calls of any size; a row that is too large is refused with nothing written', async () => {
      const owner = own()
      const shard = await owner.shard(0)
      const large = 'é'.repeat((LARGEST_ROW_BYTES - 10) / 2)
      const many = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`n${n}`, 'x'.repeat(50_000)]))
      await shard.write(puts({ large }))
      await shard.write(puts(many))
      const tooLarge = [...puts({ small: 1 }), ...puts({ larger: `${large}éééééé` })]
      await expect(shard.write(tooLarge)).rejects.toThrow(RangeError)
      await shard.write([])
      await owner.stop()
      expect((await found())[0]).toEqual({ large, ...many })
    })

    it('are lost once released: later writes throw and change nothing', async () => {
      const owner = own()
      const shard = await owner.shard(0)
      await putRow(shard, 'a', 1)
      await owner.stop()
      expect(shard.lost.aborted).toBe(true)
      await expect(putRow(shard, 'a', 2)).rejects.toEqual(lost)
      const next = own()
      const again = await next.shard(0)
      await expect(putRow(shard, 'a', 3)).rejects.toEqual(lost)
      await putRow(again, 'b', 1)
      await next.stop()
      expect((await found())[0]).toEqual({ a: 1, b: 1 })
    })

    it('stay assigned until the owner’s work has ended, also after its signal to stop', async () => {
      const stopping = new AbortController()
      const drained = Promise.withResolvers<void>()
      const owned = log.shards<Row>('words', COUNT).own(async (shard) => {
        if (shard.number !== 0) return
        stopping.abort()
        await drained.promise
        await putRow(shard, 'drained', shard.lost.aborted)
      }, stopping.signal)
      const waiting = found()
      drained.resolve()
      await owned
      expect((await waiting)[0]).toEqual({ drained: false })
    })

    it('are owned by one caller of a process at a time: the next waits', async () => {
      const first = own()
      await first.holds(COUNT)
      const second = own()
      await putRow(await first.shard(2), 'by', 'first')
      expect(second.held.size).toBe(0)
      await first.stop()
      await second.holds(COUNT)
      expect([...second.held.values()].map(({ rows }) => rows.get('by'))).toContain('first')
      await second.stop()
    })

    it('are all released when the work for one of them fails, and its error is reported', async () => {
      const fault = new Error('ours')
      const others: AbortSignal[] = []
      const failing = log.shards<Row>('words', COUNT).own(async (shard) => {
        if (shard.number === COUNT - 1) throw fault
        others.push(shard.lost)
        await aborted(shard.lost)
      }, new AbortController().signal)
      await expect(failing).rejects.toBe(fault)
      expect(others.every((signal) => signal.aborted)).toBe(true)
      expect(await found()).toEqual([{}, {}, {}])
    })

    it('are never assigned to a caller whose signal has aborted', async () => {
      const never = log
        .shards('words', COUNT)
        .own(() => Promise.reject(new Error('owned')), AbortSignal.abort())
      await never
    })

    it('end with the log', async () => {
      const owner = own()
      const shard = await owner.shard(1)
      await putRow(shard, 'a', 1)
      const shards = log.shards('words', COUNT)
      await log.close()
      await owner.ended
      expect(shard.lost.aborted).toBe(true)
      await expect(putRow(shard, 'a', 2)).rejects.toEqual(lost)
      await expect(shards.own(async () => undefined, new AbortController().signal)).rejects.toThrow('closed')
    })
  })
}
