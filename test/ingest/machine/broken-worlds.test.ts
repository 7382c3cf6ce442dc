/** Tests the poller in worlds whose upstream breaks an assumption; many more: `npm run campaign -- --broken 50`. */
import { expect, it } from 'vitest'
import { assumptions, playBroken } from '../../support/worlds/broken/broken-world.ts'

it.each(assumptions)('nothing is lost, doubled or held up where this is untrue: %s', (name) => {
  for (const plan of ['free', 'lite'] as const) {
    const verdict = playBroken({ plan, broken: [name], seed: 1 })
    expect(verdict.broken).toEqual([])
    expect(verdict.listed).toBeGreaterThan(600)
    expect(verdict.polls).toBeGreaterThan(50)
  }
})
