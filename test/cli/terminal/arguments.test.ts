import { expect, test } from 'vitest'
import { readFlagsAndWords } from '../../../src/cli/terminal/arguments.ts'

const flags = { seed: { type: 'string' }, limit: { type: 'string' } } as const

test.each([
  [['delete'], [], 'missing argument: ID'],
  [['delete'], ['a', 'b'], 'unexpected argument "b"'],
  [['delete'], [''], 'the argument ID is empty'],
  [['delete'], ['a', '--lmit', '1'], 'bridge tokens delete has no flag --lmit – did you mean "limit"?'],
  [
    ['delete'],
    ['a', '--seed', '-1'],
    '--seed needs a value; one that begins with a dash is written --seed=VALUE',
  ],
])('bridge tokens %j with %j reports its error in one line', ([verb], args, message) => {
  const read = () => readFlagsAndWords(`tokens ${verb}`, args, flags, ['ID'])
  expect(read).toThrow(expect.objectContaining({ code: 'usage', message }))
  expect(read).toThrow(
    expect.objectContaining({ hint: expect.stringContaining('bridge tokens delete --help') }),
  )
})

test('the flags and the positional arguments are parsed', () => {
  expect(readFlagsAndWords('tokens delete', ['a', '--seed=-1'], flags, ['ID'])).toEqual({
    values: { seed: '-1' },
    words: ['a'],
  })
})
