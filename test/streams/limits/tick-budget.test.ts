import { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SendBuffers } from '../../../src/http/bounds/send-buffers.ts'
import { StallWatch } from '../../../src/http/bounds/stall-watch.ts'
import { SocketWriter } from '../../../src/streams/fanout/socket-writer.ts'
import { JOBS_PER_TICK, TickBudget } from '../../../src/streams/limits/tick-budget.ts'
import { TimerWheel } from '../../../src/streams/limits/timer-wheel.ts'
import { TokenExpiry } from '../../../src/streams/limits/token-expiry.ts'
import { startApi, until } from '../../support/http/api-server.ts'
import { openRaw } from '../../support/streams/raw-stream.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const MANY = 10_000

/** The number of jobs in each tick of the event loop, until `all` have run. */
async function byTurn(happened: () => number, all: number): Promise<number[]> {
  const counts = [happened()]
  while (happened() < all) {
    const before = happened()
    await nextTurn()
    counts.push(happened() - before)
  }
  return counts
}

describe('jobs', () => {
  test('all run, once and in order, whenever they are added', async () => {
    const portions = fc.array(fc.nat(3 * JOBS_PER_TICK), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(portions, async (added) => {
        const tickBudget = new TickBudget()
        const done: number[] = []
        let next = 0
        for (const portion of added) {
          for (let job = 0; job < portion; job++) {
            const number = next
            tickBudget.run(() => done.push(number))
            next += 1
          }
          await nextTurn()
        }
        await byTurn(() => done.length, next)
        expect(done).toEqual(Array.from({ length: next }, (_, number) => number))
      }),
      { numRuns: 30 },
    )
  })

  test('run at once if there are few, and may add others', () => {
    const tickBudget = new TickBudget()
    const done: string[] = []
    tickBudget.run(() => {
      tickBudget.run(() => done.push('inner'))
      done.push('outer')
    })
    expect(done).toEqual(['inner', 'outer'])
  })
})

describe('one tick never runs more than its budget of', () => {
  const share = (counts: number[]): void => {
    expect(Math.max(...counts)).toBeLessThanOrEqual(JOBS_PER_TICK)
    expect(counts.reduce((sum, count) => sum + count)).toBe(MANY)
  }

  test('ten thousand clients that stall at one moment', async () => {
    const tickBudget = new TickBudget()
    const stalled: true[] = []
    const sendBuffers = new SendBuffers()
    const owner = { onFull: () => {}, onRoom: () => {}, onStalled: () => void stalled.push(true) }
    const clock = createManualClock()
    const stallWatch = new StallWatch(clock)
    for (let client = 0; client < MANY; client += 1) {
      const outlet = new Writable({ highWaterMark: 1, write: () => {} })
      new SocketWriter(outlet, 'socket', { stallWatch, tickBudget, sendBuffers }, owner).write(
        Buffer.from('more than it takes'),
      )
    }
    clock.advance(31_000)
    share(await byTurn(() => stalled.length, MANY))
  })

  test('ten thousand heartbeats, pings and dead peers that fall due together; a cleared one is not called', async () => {
    const tickBudget = new TickBudget()
    const clock = createManualClock()
    const timerWheel = new TimerWheel(clock, tickBudget)
    const called: true[] = []
    const entries = Array.from({ length: MANY + 1 }, () => ({
      slot: -1,
      onTimer: () => void called.push(true),
    }))
    for (const entry of entries) timerWheel.set(entry, 1000)
    clock.advance(1000)
    timerWheel.clear(entries.at(-1) ?? expect.unreachable())
    share(await byTurn(() => called.length, MANY))
    expect(clock.nextTimerMs()).toBeNull()
  })

  test('ten thousand streams of one token that ends', async () => {
    const ends = new TokenExpiry(new TickBudget())
    const token = new AbortController()
    const ended: true[] = []
    for (let stream = 0; stream < MANY; stream++) {
      ends.add(token.signal, { onTokenEnded: () => void ended.push(true) })
    }
    token.abort()
    share(await byTurn(() => ended.length, MANY))
  })

  test('a hundred clients that do not answer their close', async () => {
    await using api = await startApi()
    const silent = await Promise.all(Array.from({ length: 100 }, () => openRaw(api, { answersClose: false })))
    await until(() => silent.every(({ texts }) => texts.length === 2))
    api.feed.stop()
    await until(() => silent.every((client) => client.closeCode() === 4200))
    const ended = (): number => api.lines.filter(({ event }) => event === 'stream.closed').length
    api.clock.advance(5000)
    const counts = await byTurn(ended, 100)
    expect(Math.max(...counts)).toBeLessThanOrEqual(JOBS_PER_TICK)
  })
})
