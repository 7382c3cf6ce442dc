import { expect, test } from 'vitest'
import { readTraceText, traceparentOf, traceText } from '../../src/obs/trace-context.ts'

const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }

test('the text of a trace is read back, and the header is the one of the W3C example', () => {
  expect(readTraceText(traceText(trace))).toEqual(trace)
  expect(traceparentOf(trace)).toBe('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01')
})

test.each([
  '',
  trace.traceId,
  traceText(trace).toUpperCase(),
  `${traceText(trace)}-01`,
  `${'0'.repeat(32)}-${trace.spanId}`,
  `${trace.traceId}-${'0'.repeat(16)}`,
  `${trace.traceId}-00f067aa0ba902b`,
])('no other text is a trace: %s', (text) => {
  expect(readTraceText(text)).toBeNull()
})
