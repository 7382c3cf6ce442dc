import { describe, expect, test } from 'vitest'
import { MOST_WAITING } from '../../../src/webhooks/delivery-state/endpoint-backlog.ts'
import {
  at,
  BROKEN,
  cursorAt,
  event,
  machineOf,
  OK,
  PLAIN,
  rowOf,
  sent,
} from '../../support/webhooks/endpoint-machines.ts'

describe('an endpoint after a takeover', () => {
  test('is not sent again what was delivered or died ahead of the cursor, also after a second crash', () => {
    const retries = new Map([rowOf(event(2)), rowOf(event(3), { tries: 8 })])
    const { machine, offer, write } = machineOf({}, { base: 0, retries })
    expect(sent(machine)).toEqual([2, 3])
    machine.ended(2, OK, at(0))
    machine.ended(3, BROKEN, at(0))
    const rows = write()
    expect(rows.get('ep_1/position')).toMatchObject({ cursor: cursorAt(0), ahead: [2, 3] })
    expect([...rows.keys()]).toEqual(expect.arrayContaining(['ep_1/retry/2', 'ep_1/retry/3', 'ep_1/dead/3']))
    const next = machineOf({}, { base: 0, ahead: [2, 3] })
    for (const life of [{ machine, offer }, next]) {
      life.offer(event(1), event(2), event(3), event(4))
      expect(sent(life.machine)).toEqual([1, 4])
    }
  })

  test('continues reading although every pending delivery succeeded before the cursor reached it', () => {
    const events = Array.from({ length: MOST_WAITING }, (_, index) => event(index + 2))
    const { machine, offer, write } = machineOf(
      { maxConcurrency: 64 },
      { retries: new Map(events.map((one) => rowOf(one))) },
    )
    expect(machine.room()).toBeLessThanOrEqual(0)
    for (let now = sent(machine); now.length > 0; now = sent(machine)) {
      for (const sequence of now) machine.ended(sequence, OK, at(0))
      write()
    }
    expect(machine.room()).toBeGreaterThan(0)
    const unread = [event(1), ...events]
    const again: number[] = []
    while (machine.room() > 0 && unread.length > 0) {
      offer(...unread.splice(0, machine.room()))
      const now = sent(machine)
      for (const sequence of now) machine.ended(sequence, OK, at(0))
      again.push(...now)
      write()
    }
    expect([unread, again]).toEqual([[], [1]])
  })

  test('switched to issuer order during an unread delivery continues with that issuer', () => {
    const { machine, offer, write } = machineOf({}, { retries: new Map([rowOf(event(2, 'a'))]) })
    expect(sent(machine)).toEqual([2])
    machine.configure({ ...PLAIN, order: 'issuer' })
    offer(event(1, 'b'), event(2, 'a'), event(3, 'a'))
    machine.ended(2, OK, at(0))
    write()
    expect(sent(machine).sort()).toEqual([1, 3])
  })
})
