import fc from 'fast-check'
import { expect, test } from 'vitest'
import { structureFault } from '../../src/core/json-structure.ts'

test.each([
  ['{"a":1,"a":2}', 'a'],
  ['{"a":1,"\\u0061":2}', 'a'],
  ['[{"b":[{"x":1}],"c":{},"b":{}}]', 'b'],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ['{"":1,"":2}', ''],
  [`{"${'n'.repeat(500)}":1,"${'n'.repeat(500)}":2}`, 'n'.repeat(40)],
])('a duplicate name in one object is reported: %#', (text, name) => {
  expect(structureFault(text)).toBe(`has "${name}" twice in one object`)
})

test.each([
  '{"a":{"a":{"a":"a"}}}',
  '[{"a":1},{"a":1}]',
  '["a","a",{"a":"a\\",\\"a\\":"}]',
  '"{\\"a\\":1,\\"a\\":1}"',
  '{"a":"b","b":"a"}',
])('a name may be repeated in another object, or as a value: %s', (text) => {
  expect(structureFault(text)).toBeNull()
})

test('32 levels of nesting are accepted and 33 are rejected, for any mix of arrays and objects', () => {
  const nested = (depth: number) => `${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`
  expect(structureFault(nested(32))).toBeNull()
  expect(structureFault(`[${nested(32)}]`)).toBe('is nested deeper than 32 levels')
  expect(structureFault('['.repeat(10_000) + ']'.repeat(10_000))).toMatch(/deeper/)
})

test('the output of JSON.stringify has no structure fault', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(2), (value, indent) => {
      expect(structureFault(JSON.stringify(value, null, indent))).toBeNull()
    }),
  )
})
