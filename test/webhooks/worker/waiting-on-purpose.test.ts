/** Tests that what waits at an endpoint on purpose does not age. */
import { expect, test } from 'vitest'
import { HOUR_MS } from '../../../src/core/durations.ts'
import { answer, endpointOf, WebhookWorld } from '../../support/webhooks/webhook-world.ts'

test.each(['paused', 'disabled'] as const)(
  'what waits at a %s endpoint has no age, and has one again once it is active',
  async (status) => {
    const fails = () => ({ end: answer(500), afterMs: 10 })
    const world = new WebhookWorld({ seed: 1, scripts: { one: fails }, endpoints: [endpointOf('one')] })
    world.log.add({})
    await world.run(1000)
    const figures = () => world.worker?.figures()
    expect(figures()).toMatchObject({ pending: 1, oldestMs: expect.any(Number) })
    world.change('one', { status })
    await world.run(HOUR_MS)
    expect(figures()).toMatchObject({ pending: 1, oldestMs: null })
    world.change('one', { status: 'active' })
    await world.run(1)
    expect(figures()).toMatchObject({ pending: 1, oldestMs: expect.any(Number) })
    await world.stop()
  },
)
