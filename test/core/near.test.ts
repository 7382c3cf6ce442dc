import fc from 'fast-check'
import { expect, test } from 'vitest'
import { didYouMean, nearMatch } from '../../src/core/near.ts'
import { fileNames } from '../../src/settings/environment.ts'
import { settingNames } from '../../src/settings/schema.ts'

const fields = ['isins', 'symbols', 'fcaCategories', 'q', 'hasSymbol']

test.each([
  ['isin', 'isins'],
  ['SYMBOL', 'symbols'],
  ['symbsol', 'symbols'],
  ['fcaCategory', 'fcaCategories'],
  ['hassymbol', 'hasSymbol'],
])('%s is near %s', (name, meant) => {
  expect(nearMatch(name, fields)).toBe(meant)
  expect(didYouMean(name, fields)).toBe(` – did you mean "${meant}"?`)
})

test.each(['', 'a', 'colour', 'headline', 'i'.repeat(65), 'q'.repeat(1_000_000)])(
  '%.20s is near nothing',
  (name) => {
    expect(nearMatch(name, fields)).toBeNull()
    expect(didYouMean(name, fields)).toBe('')
  },
)

test.each([
  ['foo', ['ok', 'flood']],
  ['tail', ['wait', 'after']],
  ['died', ['dead', 'delivered']],
  ['state', ['dates', 'status']],
  ['ok', ['on']],
])('a name never matches one with more edits than a third of its length: %s', (name, candidates) => {
  expect(nearMatch(name, candidates)).toBeNull()
})

test.each([
  ['tial', 'tail'],
  ['fail', 'failed'],
  ['urll', 'url'],
])(
  'two swapped letters, a missing end or one wrong letter count as one edit: %s is near %s',
  (name, meant) => {
    expect(nearMatch(name, ['after', meant])).toBe(meant)
  },
)

test('a name longer than 64 characters is not compared, so that a huge one costs nothing', () => {
  expect(nearMatch('a'.repeat(64), ['a'.repeat(65)])).toBe('a'.repeat(65))
  expect(nearMatch('a'.repeat(65), ['a'.repeat(66)])).toBeNull()
})

test('the nearest candidate wins, the first of equals', () => {
  expect(nearMatch('cat', ['cart', 'cats', 'cat '])).toBe('cart')
  expect(nearMatch('carts', ['cats', 'carts'])).toBe('carts')
})

test('of two candidates one edit away, a missing letter wins over a wrong letter', () => {
  expect(nearMatch('sped', ['seed', 'speed'])).toBe('speed')
  expect(nearMatch('sped', ['speed', 'seed'])).toBe('speed')
  expect(nearMatch('roless', ['rolled', 'roles'])).toBe('roles')
})

test.each([
  ['BRIDGE_SECRET', 'BRIDGE_SECRET_KEY'],
  ['BRIDGE_UPSTREAM_QUOTA', 'BRIDGE_UPSTREAM_WEEKLY_QUOTA'],
  ['BRIDGE_UPSTREAM_URL_FILE', 'BRIDGE_UPSTREAM_URL'],
  ['BRIDGE_PORT', 'BRIDGE_HTTP_PORT'],
  ['bridge_http_bind_port', 'BRIDGE_HTTP_PORT'],
  ['BRIDGE_KAFKA_PASSWORD', 'BRIDGE_KAFKA_SASL_PASSWORD'],
  ['BRIDGE_LOG_LEVLE', 'BRIDGE_LOG_LEVEL'],
  ['BRIDGE_HTTPPORT', 'BRIDGE_HTTP_PORT'],
])('a missing or extra word costs little: %s is near %s', (name, meant) => {
  expect(nearMatch(name, [...settingNames, ...fileNames.keys()])).toBe(meant)
})

test('two names that each have a word of their own do not match by their shared words', () => {
  expect(nearMatch('page_colour', ['page_size', 'size'])).toBeNull()
  expect(nearMatch('BRIDGE_HTTP_CERTIFICATE', settingNames)).toBeNull()
  expect(nearMatch('_', settingNames)).toBeNull()
})

test('capitals separate words too, and a typo of one letter is nearer than a whole word', () => {
  expect(nearMatch('tradeSymbol', ['tradingSymbol', 'symbol', 'lastTradeSymbol'])).toBe('symbol')
  expect(nearMatch('symbol', ['hasSymbol', 'symbols'])).toBe('symbols')
  expect(nearMatch('categories', ['fcaCategories'])).toBe('fcaCategories')
})

test('one typo in a name of four characters or more always finds the name', () => {
  const word = fc.stringMatching(/^[a-z]{4,20}$/)
  fc.assert(
    fc.property(word, fc.nat(), fc.constantFrom('', 'z'), (name, seed, slip) => {
      const place = seed % name.length
      const typed = name.slice(0, place) + slip + name.slice(place + 1)
      expect(nearMatch(typed, [name])).toBe(name)
    }),
  )
})
