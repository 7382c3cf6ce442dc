import fc from 'fast-check'
import { expect, test } from 'vitest'
import { judgeUrl } from '../../../src/webhooks/address/judge-url.ts'
import { judgeAddress } from '../../../src/webhooks/address/rules.ts'
import { addressCases } from './corpus/addresses.ts'
import { ruleSets, type UrlExpectation } from './corpus/cases.ts'
import { urlCases } from './corpus/urls.ts'
import { isSpecialV4, isSpecialV6, spellingsOfV4, spellingsOfV6 } from './naive-oracle.ts'

const plain = ruleSets.plain

function verdictOn(text: string, rules: keyof typeof ruleSets): UrlExpectation {
  const verdict = judgeUrl(text, ruleSets[rules])
  if (verdict.kind === 'refused') return verdict.refusal
  return verdict.target.allowedNetsOnly ? 'ok nets' : 'ok'
}

test.each(
  urlCases.map((one) => ({ one, name: JSON.stringify(`${one[0]}:${one[1]}`.slice(0, 70)), why: one[3] })),
)(
  'the URL $name is checked by its parsed host ($why)',
  ({ one: [scheme, rest, expected, , rules = 'plain'] }) => {
    expect(verdictOn(`${scheme}:${rest}`, rules)).toBe(expected)
  },
)

test.each(addressCases.map((one) => ({ one, address: one[0], why: one[2] })))(
  'the address $address is checked as the address that it embeds or is ($why)',
  ({ one: [address, expected, , rules = 'plain'] }) => {
    expect(judgeAddress(address, ruleSets[rules]).kind).toBe(expected)
  },
)

test('the corpus has the required size and no duplicate case', () => {
  const keys = [
    ...urlCases.map(([scheme, rest, , , rules]) => `${rules} ${scheme}:${rest}`),
    ...addressCases.map(([address, , , rules]) => `${rules} ${address}`),
  ]
  expect(new Set(keys).size).toBe(keys.length)
  expect(keys.length).toBeGreaterThanOrEqual(300)
})

test('the guard refuses every special IPv4 address of the registries and allows every other, in any notation', () => {
  const nearEdges = fc
    .integer({ min: 0, max: 0xff_ff_ff_ff })
    .chain((any) =>
      fc.constantFrom(any, any & 0xff_ff_00_00, any | 0xff_ff, (any & 0xff_00_ff_ff) | 0xa8_00_00),
    )
  const first = fc.constantFrom(0, 10, 100, 127, 161, 166, 169, 172, 192, 198, 203, 223, 224, 240, 255)
  const likely = fc.tuple(first, nearEdges).map(([head, rest]) => ((head << 24) | (rest & 0xff_ff_ff)) >>> 0)
  fc.assert(
    fc.property(
      fc.oneof(
        nearEdges.map((value) => value >>> 0),
        likely,
      ),
      (value) => {
        const expected = isSpecialV4(BigInt(value)) ? 'refused' : 'public'
        for (const text of spellingsOfV4(BigInt(value))) {
          expect(judgeAddress(text, plain).kind, text).toBe(expected)
        }
      },
    ),
    { numRuns: 500 },
  )
})

test('the guard refuses every special IPv6 address of the registries and allows every other, in any notation', () => {
  const prefixes = fc.constantFrom(
    ...[
      '0',
      '64ff9b',
      '64ff9b0001',
      '2001',
      '20010db8',
      '2002',
      '2620004f8000',
      '3ffe',
      '3fff',
      '2a00',
      'fd00',
      'fe80',
    ],
  )
  const digits = fc.string({ unit: fc.constantFrom(...'00000123456789abcdef'), minLength: 32, maxLength: 32 })
  const likely = fc
    .tuple(prefixes, digits)
    .map(([head, rest]) => `${head.padStart(Math.ceil(head.length / 4) * 4, '0')}${rest}`.slice(0, 32))
  fc.assert(
    fc.property(fc.oneof(digits, likely), (hex) => {
      const value = BigInt(`0x${hex}`)
      const expected = isSpecialV6(value) ? 'refused' : 'public'
      for (const text of spellingsOfV6(value)) expect(judgeAddress(text, plain).kind, text).toBe(expected)
    }),
    { numRuns: 500 },
  )
})

test('every URL parser finds the same target in an accepted URL: no part is dropped or changed', () => {
  const piece = fc.constantFrom(
    ...[
      'https:',
      'http:',
      '//',
      '/',
      '\\',
      '@',
      ':',
      '#',
      '?',
      '.',
      '%2e',
      '[::1]',
      '127.1',
      'a.example',
      '\t',
      ' ',
    ],
  )
  fc.assert(
    fc.property(fc.array(piece, { minLength: 2, maxLength: 8 }), (pieces) => {
      const text = pieces.join('')
      const verdict = judgeUrl(text, ruleSets.plain)
      if (verdict.kind === 'refused') return
      expect(text).not.toMatch(/[\\\s#]|^[^/]*\/\/[^/?]*@/u)
      // Concatenated pieces, such as `a.examplehttps`, are names too. Dots may be encoded as %2e.
      const { scheme, host } = verdict.target
      expect(decodeURIComponent(text).startsWith(`${scheme}://${host}`), text).toBe(true)
      expect(URL.parse(verdict.target.url)?.href).toBe(verdict.target.url)
    }),
    { numRuns: 5_000 },
  )
})

test('a target has what a connection needs: name without trailing dot, port, path', () => {
  const absolute = 'hooks.example.'
  expect(judgeUrl(`https://${absolute.toUpperCase()}:8443/a/../b?x=1`, plain)).toEqual({
    kind: 'ok',
    target: {
      url: `https://${absolute}:8443/b?x=1`,
      scheme: 'https',
      host: 'hooks.example',
      port: 8443,
      path: '/b?x=1',
      allowedNetsOnly: false,
    },
  })
})

test('the error for a refused host is one sentence, whatever part was refused', () => {
  const messages = ['localhost', 'intranet', '10.0.0.1', '[::1]', '8.8.8.8', 'metadata'].map((host) => {
    const verdict = judgeUrl(`https:${'//'}${host}/`, plain)
    return verdict.kind === 'refused' ? verdict.message : 'taken'
  })
  expect(new Set(messages)).toEqual(
    new Set(['must not lead to a private, loopback, link-local or metadata address']),
  )
})
