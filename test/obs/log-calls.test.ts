import { expect, test } from 'vitest'
import { readSource } from '../support/house/imports.ts'
import { loggedEvents } from '../support/house/log-calls.ts'

const EVENTS = new Set(['a.one', 'a.two', 'a.three', 'a.four'])

/** Event and levels, as the text of a file writes them. */
function logged(text: string): Record<string, string[]> {
  const found = loggedEvents([readSource('src/x.ts', text)], EVENTS)
  return Object.fromEntries([...found].map(([event, levels]) => [event, [...levels].toSorted()]))
}

test('a call logs its event at its level; a chosen level counts as each', () => {
  expect(logged("logger.warn('a.one', {}); this.#parts.logger.info('a.one')")).toEqual({
    'a.one': ['info', 'warn'],
  })
  expect(logged("logger[isBad ? 'warn' : 'info']('a.two')")).toEqual({ 'a.two': ['info', 'warn'] })
})

test('a report of the poller logs its event; level and event chosen by one condition belong together', () => {
  expect(logged("push({ type: 'report', level: 'warn', event: 'a.one', fields })")).toEqual({
    'a.one': ['warn'],
  })
  expect(
    logged("push({ type: 'report', level: bad ? 'warn' : 'info', event: bad ? 'a.one' : 'a.two' })"),
  ).toEqual({ 'a.one': ['warn'], 'a.two': ['info'] })
  const computed = "function level(): string { return x ? 'debug' : 'warn' }"
  expect(logged(`push({ type: 'report', level: level(y), event: 'a.one' }); ${computed}`)).toEqual({
    'a.one': ['debug', 'warn'],
  })
})

test('events that are passed in an object are logged where they are used', () => {
  const given = "const events = { failed: 'a.one', over: 'a.two' }"
  expect(logged(`${given}; logger.warn(events.failed); logger.info(events.over)`)).toEqual({
    'a.one': ['warn'],
    'a.two': ['info'],
  })
})

test('a name that stands elsewhere does not count: in a comment, a list, a comparison, another call or an unused object', () => {
  const elsewhere = [
    "// logger.warn('a.one')",
    "const list = ['a.one', 'a.two']",
    "if (type === 'a.three') other('a.four')",
    "const events = { unused: 'a.one' }",
    "notify.send('a.two')",
    "const type = { type: 'a.three' }",
  ]
  expect(logged(elsewhere.join('\n'))).toEqual({})
})
