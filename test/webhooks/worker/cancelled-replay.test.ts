import { expect, test } from 'vitest'
import { HOUR_MS } from '../../../src/core/durations.ts'
import { endpointOf, WebhookWorld } from '../../support/webhooks/webhook-world.ts'

test('events that are being read for a replay when it is cancelled are not sent, nor taken for the next replay', async () => {
  const world = new WebhookWorld({ seed: 1, scripts: {}, endpoints: [endpointOf('one')] })
  for (let count = 0; count < 30; count++) world.log.add({})
  await world.run(HOUR_MS)
  const { reader } = world.log
  const { read } = reader
  const held = Promise.withResolvers<void>()
  reader.read = async (request) => {
    const result = await read(request)
    if (request.after === 0) await held.promise
    return result
  }
  const wanted = { only: null, createdAtMs: 0 }
  const begun = [
    world.worker?.replay('one', { id: 'rp_1', base: 0, until: 10, ...wanted }),
    world.worker?.replay('one', { id: 'rp_2', base: 20, until: 30, ...wanted }),
  ]
  await world.run(100)
  expect(await Promise.all(begun)).toEqual([true, true])
  const ended = world.worker?.cancelReplay('one', 'rp_1')
  await world.run(100)
  held.resolve()
  expect(await ended).toBe(true)
  await world.run(HOUR_MS)
  const sent = world.seen.slice(30).map(({ sequence }) => sequence)
  expect(sent).toEqual(Array.from({ length: 10 }, (_, at) => at + 21))
  expect([...world.rows.keys()]).toEqual(['one/position'])
  await world.stop()
})
