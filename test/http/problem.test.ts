/** Tests how errors of the product become sentences of a response. */
import { expect, test } from 'vitest'
import { BridgeError } from '../../src/errors.ts'
import { problemOf } from '../../src/http/problem.ts'

test.each([
  ['x is not a field – did you mean "q"?', 'x is not a field – did you mean "q"? Correct it.'],
  ['the filter is refused', 'the filter is refused. Correct it.'],
])(
  'a hint follows "%s" as a separate sentence, with one punctuation mark between them',
  (message, detail) => {
    expect(problemOf(new BridgeError('filter_invalid', message, { hint: 'Correct it.' }))?.message).toBe(
      detail,
    )
  },
)
