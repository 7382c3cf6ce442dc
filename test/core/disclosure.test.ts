import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Disclosure } from '../../src/core/disclosure.ts'
import { contentHash, issuerKey, readDisclosure } from '../../src/core/disclosure.ts'

const GUID = 'urn:newsml:example.com:20260701:1234A:1'

/** An item as upstream sends it; `changes` replace members. */
function item(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    rnsId: '1234A',
    timestamp: '2026-07-01T06:00:01Z',
    source: 'RNS',
    guid: GUID,
    version: 1,
    issuer: {
      name: 'Vodafone Group Plc',
      lei: '213800TB53ELEUKM7Q61',
      instrument: { isin: 'GB00BH4HKS39', symbol: { mnemonic: 'VOD' } },
    },
    related: [{ name: 'BlackRock', lei: '529900UBPRVKYP1UWH08' }],
    headline: 'Final Results',
    category: [
      { kind: 'Native', code: 'RE', name: 'Results' },
      { kind: 'FCA', code: 'FR', name: 'Final Results', importance: 'high' },
    ],
    publication: [],
    replaces: { guid: 'urn:newsml:example.com:20260630:9999Z:1', version: 1 },
    ...changes,
  }
}

function disclosureOf(value: unknown): Disclosure {
  const read = readDisclosure(value)
  if (!read.ok) throw new Error(read.reason)
  return read.disclosure
}

describe('a complete item', () => {
  test('parses to its identity, time, parties, categories and the item it replaces', () => {
    expect(disclosureOf(item())).toEqual({
      guid: GUID,
      timestamp: '2026-07-01T06:00:01Z',
      timeMs: Date.parse('2026-07-01T06:00:01Z'),
      headline: 'Final Results',
      issuer: {
        name: 'Vodafone Group Plc',
        lei: '213800TB53ELEUKM7Q61',
        isin: 'GB00BH4HKS39',
        symbol: 'VOD',
      },
      related: [{ name: 'BlackRock', lei: '529900UBPRVKYP1UWH08', isin: null, symbol: null }],
      categories: [
        { kind: 'Native', code: 'RE', name: 'Results', importance: null },
        { kind: 'FCA', code: 'FR', name: 'Final Results', importance: 'high' },
      ],
      replacesGuid: 'urn:newsml:example.com:20260630:9999Z:1',
    })
  })
})

describe('live data that breaks the published schema is accepted', () => {
  test.each<[string, Record<string, unknown>, Partial<Disclosure>]>([
    [
      'kind RNS',
      { category: [{ kind: 'RNS', code: 'X1' }] },
      { categories: [{ kind: 'RNS', code: 'X1', name: null, importance: null }] },
    ],
    ['version null', { version: null }, { guid: GUID }],
    [
      'no instrument',
      { issuer: { name: 'A plc' } },
      { issuer: { name: 'A plc', lei: null, isin: null, symbol: null } },
    ],
    [
      'no symbol',
      { issuer: { instrument: { isin: 'GB00BH4HKS39' } } },
      { issuer: { name: null, lei: null, isin: 'GB00BH4HKS39', symbol: null } },
    ],
    ['no issuer', { issuer: null }, { issuer: { name: null, lei: null, isin: null, symbol: null } }],
    [
      'unknown importance',
      { category: [{ kind: 'FCA', code: 'ADM', importance: 'colossal' }] },
      { categories: [{ kind: 'FCA', code: 'ADM', name: null, importance: 'colossal' }] },
    ],
    ['a category without code', { category: [{ kind: 'FCA' }, null, 7] }, { categories: [] }],
    ['category that is no list', { category: { kind: 'FCA', code: 'FR' } }, { categories: [] }],
    ['related that is no list', { related: 'none' }, { related: [] }],
    ['no headline', { headline: undefined }, { headline: '' }],
    ['blanks at the end of a headline', { headline: 'Final Results  ' }, { headline: 'Final Results  ' }],
    ['replaces without guid', { replaces: { version: 1 } }, { replacesGuid: null }],
    ['replaces null', { replaces: null }, { replacesGuid: null }],
    ['blanks around an identifier', { guid: ` ${GUID} ` }, { guid: GUID }],
    [
      'identifiers of wrong types',
      { issuer: { name: 7, lei: [], instrument: { isin: {}, symbol: { mnemonic: true } } } },
      { issuer: { name: null, lei: null, isin: null, symbol: null } },
    ],
    ['unknown fields', { script: { a: [1, { b: null }] } }, { guid: GUID }],
    ['no decimals', { timestamp: '2026-07-01T06:00:01Z' }, { timeMs: Date.parse('2026-07-01T06:00:01Z') }],
    [
      'nine decimals',
      { timestamp: '2026-07-01T06:00:01.987654321Z' },
      { timestamp: '2026-07-01T06:00:01.987654321Z', timeMs: Date.parse('2026-07-01T06:00:01.987Z') },
    ],
    ['half a character in the headline', { headline: 'a\ud800b' }, { headline: 'a\ufffdb' }],
    ['NUL in the headline', { headline: 'a\0b' }, { headline: 'a\ufffdb' }],
  ])('%s', (_, changes, expected) => {
    expect(disclosureOf(item(changes))).toMatchObject(expected)
  })

  test('names of the prototype are fields like any other', () => {
    const text = JSON.stringify(item()).replace(
      '"rnsId"',
      '"__proto__":{"guid":"forged"},"constructor":1,"rnsId"',
    )
    expect(disclosureOf(JSON.parse(text)).guid).toBe(GUID)
    expect(
      readDisclosure(JSON.parse('{"__proto__":{"guid":"x","timestamp":"2026-07-01T06:00:01Z"}}')).ok,
    ).toBe(false)
  })
})

describe('an item without identity or time is rejected with its reason, and its guid if it has one', () => {
  test.each<[unknown, string, string | null]>([
    [null, 'not an object', null],
    ['item', 'not an object', null],
    [[item()], 'not an object', null],
    [item({ guid: undefined }), 'no guid', null],
    [item({ guid: '  ' }), 'no guid', null],
    [item({ guid: 12 }), 'no guid', null],
    [item({ guid: 'x'.repeat(513) }), 'no guid', null],
    [item({ timestamp: null }), 'no timestamp', GUID],
    [item({ timestamp: 1_782_885_601_000 }), 'no timestamp', GUID],
    [item({ timestamp: 'soon' }), 'unreadable timestamp', GUID],
    [item({ timestamp: '2026-02-30T06:00:00Z' }), 'unreadable timestamp', GUID],
  ])('%#', (value, reason, guid) => {
    expect(readDisclosure(value)).toEqual({ ok: false, reason, guid })
  })

  test('nesting 10,000 levels deep is rejected with a reason, without a stack overflow', () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const deep = JSON.parse(`${open.repeat(10_000)}1${close.repeat(10_000)}`)
      expect(readDisclosure(item({ script: deep }))).toEqual({
        ok: false,
        reason: 'nested deeper than 64 levels',
        guid: GUID,
      })
      expect(readDisclosure(deep).ok).toBe(false)
    }
  })

  test('any JSON value is either parsed or rejected', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(...Object.keys(item())), (value, name) => {
        readDisclosure(value)
        const read = readDisclosure(item({ [name]: value }))
        if (name !== 'guid' && name !== 'timestamp') expect(read.ok).toBe(true)
      }),
    )
  })
})

describe('the issuer key', () => {
  test('is the LEI, else the ISIN, else the symbol, else the name in lower case', () => {
    const issuer = { name: 'Vodafone Group Plc', lei: 'L', isin: 'I', symbol: 'S' }
    expect(issuerKey(issuer)).toBe('L')
    expect(issuerKey({ ...issuer, lei: null })).toBe('I')
    expect(issuerKey({ ...issuer, lei: null, isin: null })).toBe('S')
    expect(issuerKey({ ...issuer, lei: null, isin: null, symbol: null })).toBe('vodafone group plc')
    expect(issuerKey({ name: null, lei: null, isin: null, symbol: null })).toBe('unknown')
  })
})

describe('the content hash', () => {
  /** The same value with the members of every object in reverse order. */
  function reversed(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(reversed)
    if (value === null || typeof value !== 'object') return value
    const members = Object.entries(value).map(
      ([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(reversed(member))}`,
    )
    return JSON.parse(`{${members.reverse().join(',')}}`)
  }

  test('does not depend on the order of members', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(contentHash(reversed(value))).toBe(contentHash(value))
      }),
    )
    expect(contentHash(reversed(item()))).toBe(contentHash(item()))
  })

  test('is equal exactly when the content is equal', () => {
    const small = fc.jsonValue({ maxDepth: 1 }).map((value) => JSON.parse(JSON.stringify(value)))
    fc.assert(
      fc.property(small, small, (left, right) => {
        expect(contentHash(left) === contentHash(right)).toBe(isDeepStrictEqual(left, right))
      }),
    )
    const variants = [
      item(),
      item({ headline: 'Final Results ' }),
      item({ headline: null }),
      item({ related: [] }),
      item({ category: [...(item().category as unknown[])].reverse() }),
      item({ version: '1' }),
      JSON.parse(JSON.stringify(item()).replace('"rnsId"', '"__proto__":{},"rnsId"')),
    ]
    expect(new Set(variants.map((variant) => contentHash(variant))).size).toBe(variants.length)
  })

  describe('of numbers', () => {
    const hashOf = (number: string, names = ['a', 'b']): string => {
      const text = `{${names.map((name) => `"${name}":${name === 'a' ? number : '"x"'}`).join(',')}}`
      return contentHash(JSON.parse(text), text)
    }

    test.each([
      ['9007199254740993', '9007199254740992'],
      ['123456789012345678901', '123456789012345678902'],
      ['0.1', '0.10000000000000000001'],
      ['1e400', '2e400'],
      ['1e-400', '0'],
      ['-1e400', '1e400'],
    ])('tells %s from %s', (one, other) => {
      expect(hashOf(one)).not.toBe(hashOf(other))
    })

    test.each([
      ['1e400', '1.0E+400'],
      ['9007199254740993', '90071992547409.93e2'],
      ['1.0', '1'],
      ['-0', '0'],
      ['0.10', '1e-1'],
      ['0.30000000000000004', '0.30000000000000004000'],
    ])('takes %s and %s for the same', (one, other) => {
      expect(hashOf(one)).toBe(hashOf(other))
    })

    test('does not take for ever where they are as long as an item may be', () => {
      const zeros = '0'.repeat(500_000)
      expect(hashOf(`1${zeros}1`)).not.toBe(hashOf(`1${zeros}2`))
      expect(hashOf(`1e${zeros}1`)).not.toBe(hashOf(`1e${zeros}2`))
    })

    test('does not depend on the order of members, and is as before where a double holds them', () => {
      expect(hashOf('1e400', ['b', 'a'])).toBe(hashOf('1e400'))
      fc.assert(
        fc.property(fc.jsonValue(), (value) => {
          const text = JSON.stringify(value)
          expect(contentHash(JSON.parse(text), text)).toBe(contentHash(JSON.parse(text)))
        }),
      )
      const text = '{"lei":"2138001234567890AB12","at":0.1234567890123456}'
      expect(contentHash(JSON.parse(text), text)).toBe(contentHash(JSON.parse(text)))
    })
  })

  test('has 32 hex digits', () => {
    expect(contentHash(item())).toMatch(/^[0-9a-f]{32}$/)
  })
})
