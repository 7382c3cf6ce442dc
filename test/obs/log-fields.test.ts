import { expect, test } from 'vitest'
import { keepingLogger } from '../support/keeping-logger.ts'

test('the logger of the tests refuses a field that the real one would drop', () => {
  const { logger } = keepingLogger()
  const fields = { count: 1, nowhere: 2 }
  expect(() => logger.info('poll.done', fields)).toThrow(
    'poll.done has fields that no line may have: nowhere',
  )
})
