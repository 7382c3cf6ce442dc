/** Counts what each preset keeps of the market's usual days and compares docs/use/filters.md with it. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readDisclosure } from '../../../src/core/disclosure.ts'
import { disclosureFacts } from '../../../src/core/filter/facts.ts'
import { matches } from '../../../src/core/filter/filter.ts'
import { presetNames } from '../../../src/core/filter/presets.ts'
import { listed, openMarket, toTheEnd } from '../market/market-view.ts'

const page = readFileSync(new URL('../../../docs/use/filters.md', import.meta.url), 'utf8')

test('docs/use/filters.md states how many items of two usual days each preset keeps', () => {
  const { market, clock } = openMarket('normal')
  toTheEnd(clock)
  market.advance()
  const days = listed(market).flatMap((raw) => {
    const read = readDisclosure(JSON.parse(raw))
    return read.ok ? [disclosureFacts(read.disclosure, 'published', 'Native')] : []
  })
  for (const preset of presetNames) {
    const kept = days.filter((facts) => matches({ preset }, facts)).length
    const share = kept / days.length
    const row = new RegExp(`^\\| \`${preset}\` \\| (\\d+) \\| (\\d+\\.\\d) % \\|$`, 'm').exec(page)
    const [, items, percent] = (row ?? []).map(Number)
    // A tenth more or less: the mix is a model and may be adjusted.
    expect(Math.abs((items ?? 0) / 1900 - share), preset).toBeLessThanOrEqual(Math.max(0.001, share / 10))
    expect(Math.abs((percent ?? 0) / 100 - share), preset).toBeLessThanOrEqual(Math.max(0.001, share / 10))
  }
})
