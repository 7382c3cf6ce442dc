/** Tests the queue of spans in front of a real receiver of OTLP: its bound, its count, and what is logged. */
import type { ServerResponse } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { startTracing } from '../../../src/obs/otlp.ts'
import { eventually } from '../../support/http/api-client.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { startOtlpReceiver } from '../../support/otlp-receiver.ts'

/** As many spans as may wait. */
const ROOM = 2048

async function start(answer: (response: ServerResponse) => void) {
  const receiver = await startOtlpReceiver((response) => answer(response))
  const metrics = createMetrics({ version: '1' })
  const { logger, lines } = keepingLogger()
  const tracing = await startTracing({
    settings: { url: `${receiver.url}/v1/traces`, headers: {}, ratio: 1, service: 'test' },
    ...{ about: { 'service.version': '1' }, metrics, logger, clock: systemClock },
  })
  onTestFinished(() => receiver[Symbol.asyncDispose]())
  const count = async (result: string): Promise<number> => {
    const series = new RegExp(`^bridge_trace_spans_total{result="${result}"} (\\d+)$`, 'm')
    return Number(series.exec(await metrics.scrape())?.[1])
  }
  const record = (spans: number): void => {
    for (let at = 0; at < spans; at++) tracing.begin('poll', { startMs: 1000 + at })?.end(2000 + at)
  }
  return { receiver, tracing, lines, count, record }
}

test('what a receiver that hangs leaves no room for is dropped and counted, and nothing waits for it', async () => {
  const { tracing, count, record, lines } = await start(() => undefined)
  record(ROOM + 100)
  expect(await count('dropped')).toBe(100)
  await eventually(
    () => count('failed'),
    (failed) => failed > 0,
  )
  // There is room again for as many as have failed.
  const failed = await count('failed')
  record(1)
  expect(await count('dropped')).toBe(100)
  expect(failed).toBeLessThan(ROOM)
  expect(lines.filter(({ event }) => event === 'traces.export_failed')).toHaveLength(1)
  await tracing.close()
  record(1)
  expect(await count('dropped')).toBe(101)
  expect(await count('exported')).toBe(0)
})

test('the first failure in a row is logged with the status, and the end of the row; a stop sends what is left', async () => {
  let status = 403
  const { receiver, tracing, count, record, lines } = await start((response) =>
    response.writeHead(status).end('{}'),
  )
  for (const failed of [1, 2]) {
    record(1)
    await eventually(
      () => count('failed'),
      (now) => now === failed,
    )
  }
  status = 200
  record(1)
  await eventually(
    () => count('exported'),
    (now) => now === 1,
  )
  expect(lines.map(({ event }) => event)).toEqual(['traces.export_failed', 'traces.export_recovered'])
  expect(lines[0]?.fields.reason).toContain('403')
  record(3)
  await tracing.close()
  expect(await count('exported')).toBe(4)
  expect(receiver.spans).toHaveLength(6)
})
