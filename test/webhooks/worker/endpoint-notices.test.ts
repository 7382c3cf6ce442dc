import { expect, test } from 'vitest'
import { HOUR_MS } from '../../../src/core/durations.ts'
import { answer, endpointOf, WebhookWorld } from '../../support/webhooks/webhook-world.ts'

test('has the owner notified of dead deliveries, and of the first delivery after a long failure', async () => {
  let works = false
  const world = new WebhookWorld({
    seed: 1,
    endpoints: [endpointOf('one')],
    scripts: { one: () => ({ end: answer(works ? 204 : 500), afterMs: 10 }) },
  })
  world.log.add({})
  await world.run(45 * HOUR_MS)
  expect(world.notices).toEqual([expect.objectContaining({ id: 'one', kind: 'exhausted', count: 1 })])
  await world.crash()
  world.start()
  works = true
  world.log.add({})
  await world.run(HOUR_MS)
  expect(world.notices.slice(1)).toEqual([expect.objectContaining({ id: 'one', kind: 'recovered' })])
  await world.stop()
})
