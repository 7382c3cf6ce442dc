import { expect, test } from 'vitest'
import type { Disclosure } from '../../../src/core/disclosure.ts'
import { companyKey, disclosureFacts, GAP_FACTS, spelling } from '../../../src/core/filter/facts.ts'

const disclosure: Disclosure = {
  guid: 'x',
  timestamp: '2026-07-01T06:00:01Z',
  timeMs: 0,
  headline: 'Final RESULTS',
  issuer: { name: 'A plc', lei: '213800tb53eleukm7q61', isin: 'gb00bh4hks39', symbol: 'Aaa' },
  related: [
    { name: 'B plc', lei: null, isin: null, symbol: 'BBB' },
    { name: null, lei: null, isin: null, symbol: null },
  ],
  categories: [
    { kind: 'FCA', code: 'FR', name: null, importance: 'high' },
    { kind: 'FCA', code: 'ADM', name: null, importance: null },
    { kind: 'FCA', code: 'HOL', name: null, importance: 'colossal' },
    { kind: 'Acme', code: 'RE', name: null, importance: 'low' },
    { kind: 'Native', code: 'XX', name: null, importance: null },
    { kind: 'RNS', code: 'R1', name: null, importance: 'ultra' },
  ],
  replacesGuid: null,
}

test('facts have identifiers in upper case and the headline in lower case, so that filters match', () => {
  expect(disclosureFacts(disclosure, 'amended', 'Acme')).toEqual({
    kind: 'amended',
    issuer: {
      isin: 'GB00BH4HKS39',
      symbol: 'AAA',
      lei: '213800TB53ELEUKM7Q61',
      spelt: { isin: 'gb00bh4hks39', symbol: 'Aaa' },
    },
    related: [{ symbol: 'BBB', name: 'b plc' }, {}],
    fca: ['FR', 'ADM', 'HOL'],
    native: ['RE'],
    importance: ['high', 'colossal'],
    headline: 'final results',
  })
})

test('a native category keeps upstream’s kind, and any other kind gives no category', () => {
  expect(disclosureFacts(disclosure, 'published', 'Native').native).toEqual(['XX'])
  expect(disclosureFacts(disclosure, 'published', 'Other').native).toEqual([])
})

test('a gap event has no facts except its kind', () => {
  expect(GAP_FACTS).toEqual({
    kind: 'gap',
    issuer: {},
    related: [],
    fca: [],
    native: [],
    importance: [],
    headline: '',
  })
})

test('a company is identified by its LEI, else its name, else any other identifier', () => {
  const { issuer, related } = disclosureFacts(disclosure, 'published', 'Native')
  expect([issuer, ...related].map(companyKey)).toEqual(['lei 213800TB53ELEUKM7Q61', 'name b plc', null])
  expect(companyKey({ isin: 'GB00BH4HKS39', symbol: 'AAA' })).toBe('isin GB00BH4HKS39')
  expect(companyKey({ symbol: 'AAA' })).toBe('symbol AAA')
})

test('an identifier can be had as upstream spelt it', () => {
  const { issuer, related } = disclosureFacts(disclosure, 'published', 'Native')
  expect([spelling(issuer, 'isin'), spelling(issuer, 'symbol')]).toEqual(['gb00bh4hks39', 'Aaa'])
  expect(related.map((company) => spelling(company, 'symbol'))).toEqual(['BBB', undefined])
})
