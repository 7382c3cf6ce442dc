import { expect, test } from 'vitest'
import { warned } from '../../../src/api/mirror/router.ts'

const bodyOf = (body: string) => warned(body, ['a "b"', 'c'])

test('warnings are appended last, and the rest of the response keeps its bytes', () => {
  expect(bodyOf('{"data": {"nav": 1.50, "x": "}"} }\n')).toBe(
    '{"data": {"nav": 1.50, "x": "}"},"warnings":["a \\"b\\"","c"]}\n',
  )
  expect(bodyOf('{ }')).toBe('{"warnings":["a \\"b\\"","c"]}')
})

test('a response with warnings keeps them before the new ones; `warnings` inside its data are ignored', () => {
  expect(bodyOf('{"warnings": ["own" ], "data":[{"warnings":1.0}]}')).toBe(
    '{"warnings": ["own","a \\"b\\"","c"], "data":[{"warnings":1.0}]}',
  )
  expect(bodyOf('{"data":[],"warnings":[ ]}')).toBe('{"data":[],"warnings":["a \\"b\\"","c"]}')
})

test('a response that cannot carry warnings stays unchanged: warnings of another shape, a body that is no object', () => {
  for (const same of ['{"warnings":"own"}', '[{}]']) expect(warned(same, ['a'])).toBe(same)
  expect(warned('{"data":[]}', [])).toBe('{"data":[]}')
})
