import { expect, test } from 'vitest'
import { MOST_TRIES } from '../../../src/webhooks/delivery-state/outcome.ts'
import {
  at,
  BROKEN,
  cursorAt,
  event,
  machineOf,
  rowOf,
  sent,
} from '../../support/webhooks/endpoint-machines.ts'

const MOST_DEAD = 10_000

test('of more than ten thousand dead deliveries the oldest is forgotten, and counted', () => {
  const dead = Array.from({ length: MOST_DEAD }, (_, index) => index + 1)
  const last = rowOf(event(MOST_DEAD + 1), { tries: MOST_TRIES - 1 })
  const { machine, write } = machineOf(
    {},
    { base: MOST_DEAD + 1, dead, retries: new Map([last]), forgotten: 4 },
  )
  expect(sent(machine)).toEqual([MOST_DEAD + 1])
  machine.ended(MOST_DEAD + 1, BROKEN, at(0))
  const rows = write()
  expect([rows.get('ep_1/dead/1'), rows.get(`ep_1/dead/${MOST_DEAD + 1}`)?.kind]).toEqual([null, 'dead'])
  expect(rows.get('ep_1/position')).toMatchObject({ cursor: cursorAt(MOST_DEAD + 1), forgotten: 5 })
  expect([machine.dead.size, machine.dead.forgotten]).toEqual([MOST_DEAD, 5])
})

test('forgetting is stored without an attempt, and again only when it goes on', () => {
  const { machine, write } = machineOf({}, { base: 3, dead: [1, 2, 3] })
  expect(machine.hasPendingRows()).toBe(false)
  expect(machine.dead.forget(2)).toEqual(['ep_1/dead/1', 'ep_1/dead/2'])
  expect(machine.hasPendingRows()).toBe(true)
  expect(write().get('ep_1/position')).toMatchObject({ forgotten: 2 })
  expect(machine.hasPendingRows()).toBe(false)
  expect([machine.dead.forget(2), machine.hasPendingRows()]).toEqual([[], false])
})
