import { expect, test } from 'vitest'
import { BridgeError } from '../../src/errors.ts'
import { createLogger } from '../../src/obs/logger.ts'

function capture(form: 'text' | 'coloured' = 'text') {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const logger = createLogger({ level: 'debug', secrets: ['planted upstream key/1'], form, destination })
  return { logger, lines, text: () => lines.join('') }
}

test('a line of text has time, level, event and fields; a warning has its meaning too', () => {
  const { logger, lines } = capture()
  logger.info('poll.done', {
    items: 3,
    reason: 'two words',
    hasMore: false,
    warnings: ['a', 'b'],
    kind: null,
  })
  logger.warn('quota.spent', { limit: 10 })
  expect(lines[0]).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} INFO {2}poll\.done items=3 reason="two words" hasMore=false warnings=\["a","b"\] kind=null\n$/,
  )
  expect(lines[1]).toMatch(/ WARN {2}quota\.spent limit=10 · The weekly request quota is used up .*\n$/)
})

test('an expected error is its message, code and hint; an unexpected one has its stack below', () => {
  const { logger, lines } = capture()
  const cause = new Error('ENOSPC')
  const error = new BridgeError('log_unavailable', 'no room', { hint: 'Make "room".', cause })
  logger.error('log.unavailable', {
    error: new BridgeError('log_unavailable', 'no room', { hint: 'Make "room".' }),
  })
  logger.error('log.unavailable', { error })
  logger.error('log.unavailable', { error: cause })
  expect(lines[0]).toMatch(
    / ERROR log\.unavailable error="no room" \(log_unavailable\) hint="Make \\"room\\"\." · .*\n$/,
  )
  expect(lines[1]).toContain(' cause=ENOSPC')
  const [first, ...stack] = String(lines[2]).trimEnd().split('\n')
  expect(first).toContain(' error=ENOSPC ')
  expect(stack.length).toBeGreaterThan(1)
  for (const step of stack) expect(step).toMatch(/^ {4}at /)
})

test('colours are there only in the coloured form', () => {
  const plain = capture()
  const coloured = capture('coloured')
  for (const { logger } of [plain, coloured]) logger.error('poll.done', { items: 1 })
  expect(plain.text()).toMatch(/^[\x20-\x7e·\n]+$/)
  expect(coloured.text()).toContain('\u001b[31mERROR\u001b[0m')
})

test('no value steers a terminal, breaks out of its line or shows a secret', () => {
  const { logger, text, lines } = capture()
  const evil =
    '\u009b31m \u202eexe.txt \u2028 \u001b[2J\r\n00:00:00.000 INFO  process.ready planted upstream key/1 \u007f'
  const error = Object.assign(new Error(evil), { stack: `Error: ${evil}\n    at ${evil}` })
  logger.info('poll.done', { reason: evil, warnings: [evil], error })
  logger.error(evil as 'poll.done', { error: { code: evil, message: evil, hint: evil } })
  expect(text()).toMatch(/^[\x20-\x7e·\n]+$/)
  expect(text()).not.toContain('planted')
  // Only steps of a stack begin a line of their own, indented.
  const starts = lines.flatMap((line) => line.trimEnd().split('\n').slice(1))
  for (const line of starts) expect(line).toMatch(/^ {4}/)
})
