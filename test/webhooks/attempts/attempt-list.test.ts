import { expect, test } from 'vitest'
import { attemptOutcomes } from '../../../src/core/attempt-end.ts'
import { AttemptStore } from '../../../src/webhooks/attempts/attempt-store.ts'
import { recordOf } from '../../support/webhooks/attempted.ts'

/** So many attempts of one endpoint are more than one step looks at. */
const MANY = 10_000

test('a search for the attempts of one event looks at some thousand rows in a step', () => {
  const store = new AttemptStore({ path: ':memory:', durable: false, onDamage: () => undefined })
  const attempts = Array.from({ length: MANY }, (_, at) =>
    recordOf({ endpointId: 'ep_1', sequence: at + 1, eventId: `e${at + 1}`, atMs: at + 1, outcome: 'ok' }),
  )
  store.write(attempts, null)
  const wanted = { eventId: 'e3', outcomes: attemptOutcomes, before: null, limit: 10 }
  const steps = store.attemptsOfEvent('ep_1', wanted)
  let pauses = 0
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) pauses += 1
  expect(step.value).toMatchObject([{ eventId: 'e3', sequence: 3, atMs: 3 }])
  // Deliveries and successes take three windows each, each other outcome one.
  expect(pauses).toBe(6 + attemptOutcomes.length - 1)
  expect(store.attemptsOfEvent('ep_2', wanted).next()).toEqual({ done: true, value: [] })
  store.close()
})
