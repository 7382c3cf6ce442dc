import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../src/core/durations.ts'
import { EndpointTrouble } from '../../../src/webhooks/delivery-state/endpoint-trouble.ts'
import { at, BROKEN, event, GONE, machineOf, OK } from '../../support/webhooks/endpoint-machines.ts'

describe('the trouble of an endpoint', () => {
  test('is noticed at once for the first dead delivery, then once an hour with a count', () => {
    const trouble = new EndpointTrouble()
    expect([trouble.due(0), trouble.dueInMs(0)]).toEqual([null, null])
    trouble.died(1000, null)
    const first = trouble.due(1000)
    expect(first).toEqual({ kind: 'exhausted', count: 1, firstMs: 1000, lastMs: 1000 })
    trouble.died(1500, null)
    if (first !== null) trouble.noticed(first, 2000)
    trouble.died(3000, null)
    expect([trouble.due(3000), trouble.dueInMs(3000)]).toEqual([null, HOUR_MS - 1000])
    expect(trouble.due(2000 + HOUR_MS)).toEqual({ kind: 'exhausted', count: 2, firstMs: 1500, lastMs: 3000 })
  })

  test('ends with the first success after a long failure or a disabling, and is noticed once', () => {
    for (const begin of [
      (trouble: EndpointTrouble) => trouble.died(DAY_MS, 500),
      (trouble: EndpointTrouble) => trouble.disabled(500),
    ]) {
      const trouble = new EndpointTrouble()
      begin(trouble)
      for (let notice = trouble.due(DAY_MS); notice !== null; notice = trouble.due(DAY_MS))
        trouble.noticed(notice, DAY_MS)
      trouble.succeeded(DAY_MS + 1)
      trouble.succeeded(DAY_MS + 2)
      const recovered = trouble.due(DAY_MS + 2)
      expect(recovered).toEqual({ kind: 'recovered', sinceMs: 500, atMs: DAY_MS + 1 })
      if (recovered !== null) trouble.noticed(recovered, DAY_MS + 3)
      trouble.succeeded(DAY_MS + 4)
      expect(trouble.due(2 * DAY_MS)).toBeNull()
    }
  })

  test('of an endpoint that refuses one event among others has no end to notice', () => {
    const trouble = new EndpointTrouble()
    trouble.died(DAY_MS, DAY_MS - 1)
    const notice = trouble.due(DAY_MS)
    if (notice !== null) trouble.noticed(notice, DAY_MS)
    trouble.succeeded(DAY_MS + 1)
    expect(trouble.due(2 * DAY_MS)).toBeNull()
  })

  test('survives a restart: it is stored in the write of the dead delivery itself', () => {
    const { machine, offer } = machineOf()
    offer(event(1))
    let nowMs = 0
    let stored: unknown
    for (let tries = 1; tries <= 9; tries++) {
      expect(machine.next(nowMs)?.attempt).toBe(tries)
      machine.ended(1, BROKEN, at(nowMs))
      const batch = machine.take(() => 'cursor', false)
      const isDeath = batch?.changes.some(({ key }) => key === 'ep_1/dead/1') ?? false
      expect(isDeath).toBe(tries === 9)
      const position = batch?.changes.find(({ key }) => key === 'ep_1/position')?.value
      if (isDeath && position?.kind === 'position') stored = position.trouble
      batch?.settled()
      nowMs += 12 * HOUR_MS + (tries === 8 ? DAY_MS : 0)
    }
    expect(stored).toMatchObject({ deaths: 1, noticedMs: null })
    const next = machineOf({}, { trouble: stored as never }).machine
    expect(next.trouble.due(nowMs)).toMatchObject({ kind: 'exhausted', count: 1 })
  })

  test('begins with a 410, and ends with a delivery after the endpoint was made active again', () => {
    const { machine, offer, write } = machineOf()
    offer(event(1))
    machine.next(0)
    machine.ended(1, GONE, at(5))
    write()
    const config = { maxConcurrency: 4, rateLimit: null, order: 'none', maxBatch: null } as const
    machine.configure({ ...config, isActive: false, target: 'a' })
    machine.configure({ ...config, isActive: true, target: 'a' })
    machine.next(10)
    machine.ended(1, OK, at(20))
    expect(machine.trouble.due(20)).toEqual({ kind: 'recovered', sinceMs: 5, atMs: 20 })
  })
})
