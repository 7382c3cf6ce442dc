import { expect, test } from 'vitest'
import { openMetricsText } from '../../src/obs/exemplars.ts'
import { createMetrics } from '../../src/obs/metrics.ts'

const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }

/** Lines about what is ours; those of Node change from one scrape to the next. */
const ours = (text: string): string[] => text.split('\n').filter((line) => line.includes('bridge_'))

test('a bucket has the trace that was observed last in it, in OpenMetrics alone', async () => {
  const [traced, plain] = [createMetrics({ version: '1' }), createMetrics({ version: '1' })]
  for (const [seconds, spanId] of [
    [0.3, '1'.repeat(16)],
    [0.26, trace.spanId],
    [9_999, trace.spanId],
  ] as const) {
    traced.detectionLatency.observe(seconds, { ...trace, spanId })
    plain.detectionLatency.observe(seconds, null)
  }
  traced.detectionLatency.observe(1.5, null)
  plain.detectionLatency.observe(1.5, null)
  expect(ours(await traced.scrape())).toEqual(ours(await plain.scrape()))
  expect(await traced.scrape()).not.toContain(trace.traceId)

  const text = await traced.scrapeOpenMetrics()
  const exemplars = text.split('\n').filter((line) => line.includes(' # {'))
  expect(exemplars).toEqual([
    `bridge_detection_latency_seconds_bucket{le="0.5"} 2 # {trace_id="${trace.traceId}",span_id="${trace.spanId}"} 0.26`,
    `bridge_detection_latency_seconds_bucket{le="+Inf"} 4 # {trace_id="${trace.traceId}",span_id="${trace.spanId}"} 9999`,
  ])
  expect(ours(await plain.scrapeOpenMetrics()).filter((line) => line.includes(trace.traceId))).toEqual([])
})

test('OpenMetrics names counters without _total, and has nothing between metrics and its mark at the end', () => {
  const text = [
    '# HELP a_total Things, "quoted".',
    '# TYPE a_total counter',
    'a_total{of="x"} 3',
    '',
    '# HELP b_total A gauge.',
    '# TYPE b_total gauge',
    'b_total 1',
    '',
  ].join('\n')
  expect(openMetricsText(text, { of: () => undefined })).toBe(
    [
      '# HELP a Things, "quoted".',
      '# TYPE a counter',
      'a_total{of="x"} 3',
      '# HELP b_total A gauge.',
      '# TYPE b_total gauge',
      'b_total 1',
      '# EOF',
      '',
    ].join('\n'),
  )
})
