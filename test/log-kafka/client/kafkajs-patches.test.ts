import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { patchKafkaJs } from '../../../src/log-kafka/client/kafkajs-patches.ts'

/** The request queue of one connection, as kafkajs creates it, with the parts that these tests need. */
const queueOf = (isConnected: () => boolean): RequestQueue =>
  new (RequestQueue as unknown as new (options: object) => RequestQueue)({
    maxInFlightRequests: null,
    requestTimeout: 5_000,
    enforceRequestTimeout: true,
    isConnected,
  })

/** Sends a request that gets no response. */
const send = (queue: RequestQueue, requestTimeout: number) => {
  const reject = vi.fn()
  const entry = { correlationId: 1, resolve: () => undefined, reject }
  queue.push({ entry, expectResponse: true, requestTimeout, sendRequest: () => undefined })
  return reject
}

describe('pending requests', () => {
  beforeEach(() => {
    patchKafkaJs({})
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('time out within a second after their deadline, and not before it', () => {
    const reject = send(
      queueOf(() => true),
      5_000,
    )
    vi.advanceTimersByTime(5_000)
    expect(reject).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1_000)
    expect(reject).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each([
    ['before', (queue: RequestQueue) => queue.destroy(), () => undefined],
    ['after', () => undefined, (queue: RequestQueue) => queue.destroy()],
  ])('time out too if they were sent and the connection ended %s', (_, before, after) => {
    const queue = queueOf(() => false)
    before(queue)
    const reject = send(queue, 5_000)
    after(queue)
    vi.advanceTimersByTime(6_000)
    expect(reject).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('are checked once a second, and not while none is pending', () => {
    const queue = queueOf(() => true)
    queue.scheduleRequestTimeoutCheck()
    expect(vi.getTimerCount()).toBe(0)
    send(queue, 60_000)
    const looked = vi.spyOn(queue.inflight, 'values')
    vi.advanceTimersByTime(10_000)
    expect(looked).toHaveBeenCalledTimes(10)
    queue.inflight.clear()
    vi.advanceTimersByTime(1_000)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('leave no timer when the queue is closed and empty', () => {
    const queue = queueOf(() => true)
    send(queue, 5_000)
    queue.inflight.clear()
    queue.destroy()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('arm no timer in an empty queue', () => {
    const queue = queueOf(() => true)
    queue.scheduleCheckPendingRequests()
    expect(vi.getTimerCount()).toBe(0)
  })
})
