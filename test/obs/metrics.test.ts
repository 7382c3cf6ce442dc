import { describe, expect, test } from 'vitest'
import { checkHealth } from '../../src/obs/health.ts'
import { createMetrics } from '../../src/obs/metrics.ts'

describe('the metrics', () => {
  test('are registered at zero with every label they can have', async () => {
    const metrics = createMetrics({ version: '1.2.3', installation: 'london-1' })
    const text = await metrics.scrape()
    expect(text).toContain('bridge_poll_requests_total{purpose="gateway",result="invalid"} 0')
    expect(text).toContain('bridge_stream_closes_total{transport="sse",code="4108"} 0')
    expect(text).toContain('bridge_webhook_pending 0')
    expect(text).toContain('bridge_commit_duration_seconds_count 0')
    expect(text).toContain('bridge_build_info{version="1.2.3"} 1')
    expect(text).toContain('bridge_info{installation="london-1"} 1')
    expect(text).toContain('process_cpu_seconds_total')
    for (const { name } of metrics.docs) expect(text).toContain(`# TYPE ${name} `)
  })

  test('count what they are told, each set of metrics for itself', async () => {
    const [one, other] = [createMetrics({ version: '1' }), createMetrics({ version: '1' })]
    one.items.add({ disposition: 'new' }, 3)
    one.items.add({ disposition: 'new' })
    one.streamClients.add({ transport: 'sse' }, 1)
    one.streamClients.add({ transport: 'sse' }, -1)
    one.commitDuration.observe({}, 0.02)
    expect(await one.scrape()).toContain('bridge_items_total{disposition="new"} 4')
    expect(await one.scrape()).toContain('bridge_commit_duration_seconds_bucket{le="0.025"} 1')
    expect(await one.scrape()).toContain('bridge_stream_clients{transport="sse"} 0')
    expect(await other.scrape()).toContain('bridge_items_total{disposition="new"} 0')
  })

  test('have no series for what is not known, from the start or again', async () => {
    const { gapsOpen, scrape } = createMetrics({ version: '1' })
    const shown = async () => (await scrape()).match(/^bridge_gaps_open .*$/m)?.[0] ?? null
    expect(await shown()).toBeNull()
    gapsOpen.set(0)
    expect(await shown()).toBe('bridge_gaps_open 0')
    gapsOpen.set(null)
    gapsOpen.set(null)
    expect(await shown()).toBeNull()
  })

  test('do not count endpoints on a process that does not know them', async () => {
    expect(await createMetrics({ version: '1' }).scrape()).not.toContain('bridge_webhook_endpoints{')
  })

  test('say what they are for', () => {
    for (const { help } of createMetrics({ version: '1' }).docs) expect(help.length).toBeGreaterThan(10)
  })
})

describe('health', () => {
  const unexpected = (name: string, error: unknown): never => {
    throw new Error(`the check ${name} threw`, { cause: error })
  }

  test('is ready when every check is', () => {
    expect(checkHealth({ log: () => true, copy: () => 1 }, unexpected)).toEqual({
      ready: true,
      checks: { log: true, copy: 1 },
    })
    expect(checkHealth({}, unexpected)).toEqual({ ready: true, checks: {} })
  })

  test('shows progress, and never calls something whole that is not', () => {
    expect(checkHealth({ copy: () => 0.42, log: () => true }, unexpected)).toEqual({
      ready: false,
      checks: { copy: 0.42, log: true },
    })
    expect(checkHealth({ copy: () => 0.9999 }, unexpected)).toEqual({ ready: false, checks: { copy: 0.99 } })
  })

  test('counts a check that throws as failed, and says why', () => {
    const error = new Error('disk')
    const broken = (): never => {
      throw error
    }
    const errors: unknown[] = []
    const health = checkHealth({ log: broken, copy: () => true }, (name, thrown) =>
      errors.push([name, thrown]),
    )
    expect(health).toEqual({ ready: false, checks: { log: false, copy: true } })
    expect(errors).toEqual([['log', error]])
  })
})
