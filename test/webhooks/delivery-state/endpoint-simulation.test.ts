import fc from 'fast-check'
import { test } from 'vitest'
import { simulateEndpoint } from '../../support/webhooks/endpoint-simulation.ts'

test('an endpoint loses no event, sends none early or twice at a time, and never stops, whatever happens to it', () => {
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      simulateEndpoint(seed)
    }),
    { numRuns: 200 },
  )
})
