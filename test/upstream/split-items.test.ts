import fc from 'fast-check'
import { expect, test } from 'vitest'
import { atOnce } from '../../src/lifecycle/slices.ts'
import { dataText, listParts, onOneLine } from '../../src/upstream/split-items.ts'

/** The texts of the items, each on one line; none where `data` is no list. */
function splitItems(text: string): string[] {
  const parts = atOnce(listParts(text))
  if (parts === null || 'excess' in parts) return []
  return (parts.items ?? []).map(({ start, end }) => onOneLine(text.slice(start, end)))
}

/** Every arbitrary here draws JSON *text*, so that spacing, escapes, digits and duplicate members are all odd. */
const blanks = fc
  .array(fc.constantFrom(' ', '\n', '\r', '\t'), { maxLength: 3 })
  .map((drawn) => drawn.join(''))

const character = fc.oneof(
  fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', '\n', '\u2028', 'é', '😀', ' '),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
)
const escaped = (text: string): string =>
  Array.from(
    { length: text.length },
    (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('')
const stringText = fc
  .array(fc.tuple(character, fc.boolean()), { maxLength: 6 })
  .map(
    (drawn) =>
      `"${drawn.map(([text, hidden]) => (hidden ? escaped(text) : JSON.stringify(text).slice(1, -1))).join('')}"`,
  )
const nameText = fc.oneof(
  stringText,
  fc.constantFrom('"data"', '"d\\u0061ta"', '"meta"', '"__proto__"', '""'),
)
const numberText = fc.oneof(
  fc.constantFrom('0', '-0', '1.0', '1e400', '12345678901234567890', '0.10', '1E+2', '-1.5e-9'),
  fc.integer().map(String),
)

const { value: valueText } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'value' },
    fc.constantFrom('null', 'true', 'false'),
    numberText,
    stringText,
    tie('list'),
    tie('record'),
  ),
  list: fc
    .tuple(
      blanks,
      fc.array(fc.tuple(blanks, tie('value'), blanks), { maxLength: 4, depthIdentifier: 'value' }),
    )
    .map(
      ([inside, members]) => `[${members.length === 0 ? inside : members.map((m) => m.join('')).join(',')}]`,
    ),
  record: fc
    .tuple(
      blanks,
      fc.array(fc.tuple(blanks, nameText, blanks, blanks, tie('value'), blanks), {
        maxLength: 4,
        depthIdentifier: 'value',
      }),
    )
    .map(
      ([inside, members]) =>
        `{${members.length === 0 ? inside : members.map(([a, name, b, c, value, d]) => `${a}${name}${b}:${c}${value}${d}`).join(',')}}`,
    ),
})) as { value: fc.Arbitrary<string> }

const member = fc
  .tuple(blanks, nameText, blanks, blanks, valueText, blanks)
  .map(([a, name, b, c, value, d]) => {
    return `${a}${name}${b}:${c}${value}${d}`
  })
const elements = fc.array(fc.tuple(blanks, valueText, blanks), { maxLength: 6 })

/** A response and the item texts of its last `data` member. */
const answer = fc
  .tuple(
    blanks,
    fc.array(member, { maxLength: 3 }),
    blanks,
    elements,
    blanks,
    fc.array(member, { maxLength: 3 }),
  )
  .map(([outside, before, gap, list, inside, after]) => {
    const listText = `[${list.length === 0 ? inside : list.map((parts) => parts.join('')).join(',')}]`
    const kept = after.filter((text) => JSON.parse(`{${text}}`).data === undefined)
    const text = `${outside}{${[...before, `${gap}"data":${listText}${gap}`, ...kept].join(',')}}${outside}`
    return { text, texts: list.map(([, value]) => value) }
  })

test('each item text is exactly that of the response, whatever its spacing, escapes and duplicate members', () => {
  fc.assert(
    fc.property(answer, ({ text, texts }) => {
      expect(splitItems(text)).toEqual(texts.map((item) => item.replace(/[\r\n]/g, ' ')))
    }),
    { numRuns: 500 },
  )
})

test('each item text is one line and parses to what JSON.parse finds in its place', () => {
  fc.assert(
    fc.property(answer, ({ text }) => {
      const split = splitItems(text)
      for (const item of split) expect(item).not.toMatch(/[\r\n]/)
      expect(split.map((item) => JSON.parse(item))).toEqual(JSON.parse(text).data)
    }),
    { numRuns: 500 },
  )
})

test('the text of `data` is what JSON.parse finds there, or absent, whatever the top level is', () => {
  const top = fc.tuple(
    blanks,
    fc.oneof(
      valueText,
      answer.map(({ text }) => text),
    ),
    blanks,
  )
  fc.assert(
    fc.property(top, (parts) => {
      const text = parts.join('')
      const value: unknown = JSON.parse(text)
      const has = value !== null && typeof value === 'object' && Object.hasOwn(value, 'data')
      const found = dataText(text)
      expect(found === null).toBe(!has)
      if (found === null) expect(splitItems(text)).toEqual([])
      else expect(JSON.parse(found)).toEqual((value as { data: unknown }).data)
    }),
    { numRuns: 500 },
  )
})

test('numbers keep their digits', () => {
  const digits = ['12345678901234567890', '1.0', '1e400', '-0', '0.10']
  expect(splitItems(`{"data":[${digits.join(' , ')}]}`)).toEqual(digits)
})

test('the last of several members `data` counts, as for JSON.parse', () => {
  expect(splitItems('{"data":[1],"d\\u0061ta":[2,3],"meta":{"data":[4]}}')).toEqual(['2', '3'])
  expect(splitItems('{"data":[1],"data":null}')).toEqual([])
})

test('nesting deep enough to exhaust the stack is still read', () => {
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
  expect(splitItems(`{"data":[${deep}]}`)).toEqual([deep])
})
