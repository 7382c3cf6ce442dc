import { expect, test } from 'vitest'
import { eventLine } from '../../../src/cli/terminal/event-line.ts'
import { painter, wantsColour } from '../../../src/cli/terminal/text.ts'

const plain = painter(false)
const item = {
  guid: 'g',
  timestamp: '2026-07-01T06:00:01Z',
  headline: 'Final Results ',
  issuer: { name: 'Alpha plc', instrument: { isin: 'GB00BH4HKS39', symbol: { mnemonic: 'ALP' } } },
  category: [
    { kind: 'Native', code: 'RE' },
    { kind: 'FCA', code: 'FR', importance: 'high' },
    { kind: 'FCA', code: 'DIV', importance: 'ultra' },
  ],
}
const event = { type: 'disclosure.published.v1', time: item.timestamp, data: item }
const line = (changes: object = {}): string => eventLine(JSON.stringify({ ...event, ...changes }), plain)

test('a disclosure line has London time, codes, highest importance, symbol, headline and issuer', () => {
  expect(line()).toBe('2026-07-01T07:00:01+01:00  FR,DIV   ultra   ALP     Final Results · Alpha plc')
})

test('amended, late and replacing items are marked; a missing member is a dash', () => {
  const bare = { ...item, issuer: {}, category: [{ kind: 'Native', code: 'RE' }] }
  const changed = { type: 'disclosure.amended.v1', late: 'true', replacesid: 'x', data: bare }
  expect(line(changed)).toBe(
    '2026-07-01T07:00:01+01:00  RE       –       –       Final Results (amended, late, replaces an earlier one)',
  )
})

test.each([
  [
    'opened',
    'GAP  items may be missing from 2026-01-06T07:00:00+00:00 to 2026-01-06T07:00:09+00:00: a poll did not reach all items',
  ],
  ['filled', 'GAP  filled from 2026-01-06T07:00:00+00:00 to 2026-01-06T07:00:09+00:00, 7 items found'],
  [
    'given_up',
    'GAP  given up from 2026-01-06T07:00:00+00:00 to 2026-01-06T07:00:09+00:00, 7 items found: a poll did not reach all items',
  ],
])('a gap that is %s is described in words', (state, words) => {
  const data = { from: '2026-01-06T07:00:00Z', to: '2026-01-06T07:00:09Z', cause: 'overflow', found: 7 }
  expect(line({ type: `bridge.gap.${state}.v1`, data })).toBe(`2026-07-01T07:00:01+01:00  ${words}`)
})

test('a gap in which one item was found says so without a plural', () => {
  const data = { from: '2026-01-06T07:00:00Z', to: '2026-01-06T07:00:09Z', cause: 'overflow', found: 1 }
  expect(line({ type: 'bridge.gap.filled.v1', data })).toMatch(/, 1 item found$/)
})

test('no text of an item controls the terminal or starts a second line', () => {
  const evil = '\u001b[2J\u009b31m\u202egnp.\nFake line\r\u2028\u0007'
  const shown = line({
    time: evil,
    data: {
      ...item,
      headline: evil,
      issuer: { name: evil },
      category: [{ kind: 'FCA', code: evil, importance: evil }],
    },
  })
  expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  for (const rubbish of ['{"type":', '{"type":"bridge.gap.opened.v1"}', '7', `"${'\\u001b'}[2J"`, 'null'])
    expect(eventLine(rubbish, plain)).not.toMatch(/\p{Cc}/u)
})

test('colours appear on terminals only, unless NO_COLOR is set', () => {
  expect(eventLine(JSON.stringify(event), painter(true))).toContain('\u001b[1;31m')
  expect([wantsColour({}, true), wantsColour({}, false), wantsColour({ NO_COLOR: '1' }, true)]).toEqual([
    true,
    false,
    false,
  ])
  expect(wantsColour({ NO_COLOR: '' }, true)).toBe(true)
})
