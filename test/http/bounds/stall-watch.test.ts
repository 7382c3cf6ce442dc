import { expect, test } from 'vitest'
import { StallWatch, type WatchedSocket } from '../../../src/http/bounds/stall-watch.ts'
import type { Clock } from '../../../src/lifecycle/clock.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

/** A socket with bytes for a client, of which the test takes some. */
function socketWith(bytes: number) {
  const socket = { writableLength: bytes, _handle: { bytesWritten: bytes, writeQueueSize: bytes } }
  return Object.assign(socket satisfies WatchedSocket, {
    take(taken: number) {
      socket.writableLength -= taken
      socket._handle.writeQueueSize -= taken
    },
    write(more: number) {
      socket.writableLength += more
      socket._handle.writeQueueSize += more
      socket._handle.bytesWritten += more
    },
  })
}

test('a client stalls 29 to 29.5 s after the last byte that it took, whatever was written meanwhile', () => {
  const clock = createManualClock()
  const watch = new StallWatch(clock)
  const socket = socketWith(1000)
  let stalls = 0
  watch.add(socket, () => {
    stalls += 1
  })
  for (let round = 0; round < 5; round += 1) {
    clock.advance(28_900)
    socket.take(1)
    socket.write(10)
  }
  clock.advance(29_000)
  expect(stalls).toBe(0)
  socket.write(10)
  clock.advance(600)
  expect(stalls).toBe(1)
  clock.advance(60_000)
  expect([stalls, clock.nextTimerMs()]).toEqual([1, null])
})

test('looks that a busy process makes late do not put the stall off', () => {
  const clock = createManualClock()
  const late: Clock = { now: () => clock.now(), after: (ms, run) => clock.after(ms + 40, run) }
  const watch = new StallWatch(late)
  let stalls = 0
  watch.add(socketWith(1000), () => {
    stalls += 1
  })
  clock.advance(29_000)
  expect(stalls).toBe(0)
  clock.advance(700)
  expect(stalls).toBe(1)
})

test('a client for whom nothing waits never stalls', () => {
  const clock = createManualClock()
  const watch = new StallWatch(clock)
  const socket = socketWith(0)
  let stalls = 0
  const end = watch.add(socket, () => {
    stalls += 1
  })
  clock.advance(3_600_000)
  socket.write(5)
  clock.advance(28_000)
  expect(stalls).toBe(0)
  clock.advance(3000)
  expect(stalls).toBe(1)
  end()
})

test('a watch that has ended calls nobody, and leaves no timer', () => {
  const clock = createManualClock()
  const watch = new StallWatch(clock)
  const ends = [1, 2].map(() => watch.add(socketWith(5), () => expect.unreachable()))
  for (const end of [...ends, ...ends]) end()
  expect(clock.nextTimerMs()).toBeNull()
  clock.advance(60_000)
})
