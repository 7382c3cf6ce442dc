import { describe, expect, test } from 'vitest'
import type { Reader } from '../../../src/archive/reading/reader.ts'
import type { Filter } from '../../../src/core/filter/filter.ts'
import { SendBuffers } from '../../../src/http/bounds/send-buffers.ts'
import { FanoutIndex } from '../../../src/streams/fanout/fanout-index.ts'
import { FrameBatches } from '../../../src/streams/fanout/frame-batches.ts'
import type { EventFraming } from '../../../src/streams/fanout/framing.ts'
import { sseEvents } from '../../../src/streams/transport/sse-frames.ts'
import { createStore } from '../../support/store.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

/** A framing that counts its calls. */
function countingFraming(): EventFraming & { framed: number } {
  return {
    ...sseEvents,
    framed: 0,
    events(events, sentMs) {
      this.framed += events.length
      return sseEvents.events(events, sentMs)
    },
  }
}

async function node() {
  const clock = createManualClock()
  const store = createStore(clock, 9)
  const reads: (Filter | null)[] = []
  const state = { epoch: store.reader.epoch }
  const reader: Reader = Object.create(store.reader, {
    epoch: { get: () => state.epoch },
    read: {
      value: (request: Parameters<Reader['read']>[0]) => {
        reads.push(request.filter)
        return store.reader.read(request)
      },
    },
  })
  const stopping = new AbortController()
  const sendBuffers = new SendBuffers()
  const blocks = new FrameBatches(reader, clock, sendBuffers, stopping.signal)
  const fanoutIndex = new FanoutIndex(reader, clock, sendBuffers)
  const running = fanoutIndex.run(stopping.signal)
  const grow = async (count: number): Promise<void> => {
    store.grow(count)
    await new Promise((resolve) => setImmediate(resolve))
    while (fanoutIndex.scannedTo < store.reader.latest) await new Promise((resolve) => setImmediate(resolve))
  }
  const stop = async (): Promise<void> => {
    stopping.abort()
    await running
  }
  return { fanoutIndex, blocks, clock, grow, reads, state, stop, store }
}

describe('the fan-out index', () => {
  test('wakes exactly the readers whose filter matches an event, once', async () => {
    const { fanoutIndex, grow, stop } = await node()
    const woken: string[] = []
    const wait = (name: string, filter: Filter | null) => {
      const channel = fanoutIndex.join(filter, sseEvents)
      channel.caughtUp.add({ onNewEvents: (scannedTo) => woken.push(`${name} behind ${scannedTo}`) })
      return channel
    }
    wait('all', null)
    const tenths = wait('tenths', { fcaCategories: ['FR'] })
    wait('none', { fcaCategories: ['XX'] })
    await grow(1)
    expect(woken.toSorted()).toEqual(['all behind 9', 'tenths behind 9'])
    wait('tenths again', { fcaCategories: ['FR'] })
    await grow(5)
    expect(woken).toHaveLength(2)
    fanoutIndex.leave(tenths)
    await grow(5)
    expect(woken.slice(2)).toEqual(['tenths again behind 15'])
    await stop()
  })

  test('wakes every reader for events that arrive during a wake-up, also when the log has just begun', async () => {
    for (const begins of [false, true]) {
      const { fanoutIndex, clock, store, state, grow, stop } = await node()
      const channel = fanoutIndex.join(null, sseEvents)
      const woken: number[] = []
      // Takes so long that other work runs, and has caught up when the next event arrives.
      const slow = {
        onNewEvents(): void {
          woken.push(store.reader.latest)
          channel.caughtUp.add(slow)
          clock.advance(20)
          if (woken.length === 1) setImmediate(() => store.grow(1))
        },
      }
      channel.caughtUp.add(slow)
      channel.caughtUp.add({ onNewEvents: () => {} })
      if (begins) state.epoch = 'Epoch002'
      await grow(1)
      await grow(1)
      expect(woken.slice(0, 2)).toEqual([10, 11])
      await stop()
    }
  })

  test('gives no reader a position of the old log after an epoch change', async () => {
    const { fanoutIndex, state, grow, stop } = await node()
    expect(fanoutIndex.scannedTo).toBe(9)
    const scans: number[] = []
    fanoutIndex.ahead.add({ onNewEvents: (scannedTo) => scans.push(scannedTo) })
    state.epoch = 'Epoch002'
    await grow(1)
    expect(scans).toEqual([0])
    await stop()
  })

  test('wakes a reader whose position is ahead of the replica on every event', async () => {
    const { fanoutIndex, grow, stop } = await node()
    let woken = 0
    fanoutIndex.ahead.add({
      onNewEvents: () => {
        woken += 1
      },
    })
    await grow(1)
    expect(woken).toBe(1)
    expect(fanoutIndex.ahead.size).toBe(0)
    await stop()
  })

  test('puts equal filters in one group, whose batches are read and framed once per position', async () => {
    const { fanoutIndex, blocks, reads, stop } = await node()
    const framing = countingFraming()
    const filter = (): Filter => ({ fcaCategories: ['NAV'] })
    const one = fanoutIndex.join(filter(), framing)
    expect(fanoutIndex.join(filter(), framing)).toBe(one)
    expect(fanoutIndex.join({ fcaCategories: ['FR'] }, framing)).not.toBe(one)
    const [first, second] = await Promise.all([blocks.next(one, 3), blocks.next(one, 3)])
    expect(second).toBe(first)
    expect(blocks.next(one, 3)).toBe(first)
    expect(first).toMatchObject({ events: 6, position: 9 })
    expect({ reads: reads.length, framed: framing.framed }).toEqual({ reads: 1, framed: 6 })
    await blocks.next(one, 4)
    expect(reads).toHaveLength(2)
    await stop()
  })

  test('caches no batch for a group of one reader', async () => {
    const { fanoutIndex, blocks, reads, stop } = await node()
    const alone = fanoutIndex.join(null, sseEvents)
    await blocks.next(alone, 0)
    await blocks.next(alone, 0)
    expect(reads).toHaveLength(2)
    await stop()
  })
})
