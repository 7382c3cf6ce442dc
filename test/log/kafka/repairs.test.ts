import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { repairKafkaJs } from '../../../src/log/kafka/repairs.ts'

/** As kafkajs makes one for each connection, with the parts it needs for what is looked at here. */
const queueOf = (isConnected: () => boolean): RequestQueue =>
  new (RequestQueue as unknown as new (options: object) => RequestQueue)({
    maxInFlightRequests: null,
    requestTimeout: 5_000,
    enforceRequestTimeout: true,
    isConnected,
  })

const onItsWay = (queue: RequestQueue, requestTimeout: number) => {
  const timeoutRequest = vi.fn(() => queue.inflight.delete(1))
  queue.inflight.set(1, { sentAt: Date.now(), requestTimeout, timeoutRequest })
  return timeoutRequest
}

describe('requests on their way', () => {
  beforeEach(() => {
    repairKafkaJs({})
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('one without an answer is given up within a second after its time, and not before it', () => {
    const queue = queueOf(() => true)
    queue.scheduleRequestTimeoutCheck()
    const timeoutRequest = onItsWay(queue, 5_000)
    vi.advanceTimersByTime(5_000)
    expect(timeoutRequest).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1_000)
    expect(timeoutRequest).toHaveBeenCalledTimes(1)
  })

  test('they are looked at once a second while the connection stands', () => {
    const queue = queueOf(() => true)
    queue.scheduleRequestTimeoutCheck()
    const looked = vi.spyOn(queue.inflight, 'values')
    vi.advanceTimersByTime(10_000)
    expect(looked).toHaveBeenCalledTimes(10)
  })

  test.each([
    ['the connection is gone', (queue: RequestQueue) => void queue, false],
    ['the queue is ended', (queue: RequestQueue) => queue.destroy(), true],
  ])('no timer is left when %s', (_, end, connected) => {
    const queue = queueOf(() => connected)
    queue.scheduleRequestTimeoutCheck()
    queue.scheduleRequestTimeoutCheck()
    expect(vi.getTimerCount()).toBe(1)
    end(queue)
    vi.advanceTimersByTime(1_000)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a queue with nothing pending arms no timer', () => {
    const queue = queueOf(() => true)
    queue.scheduleCheckPendingRequests()
    expect(vi.getTimerCount()).toBe(0)
  })
})
