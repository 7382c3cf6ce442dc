import { describe, expect, onTestFinished, test } from 'vitest'
import { listen } from '../../src/http/listener.ts'
import { createOpsApp } from '../../src/http/ops.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { type Check, createReadiness } from '../../src/obs/health.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import { keepingLogger } from '../support/keeping-logger.ts'

/** The ops listener over one check, and what it logs. */
async function start(copy: Check, isTraced = false, isPaused: () => boolean = () => false) {
  const { logger, lines } = keepingLogger()
  const metrics = createMetrics({ version: '1' })
  const app = createOpsApp({
    readiness: createReadiness({ copy }, logger, isPaused),
    metrics: isTraced ? metrics : { contentType: metrics.contentType, scrape: metrics.scrape },
    logger,
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  onTestFinished(() => listener.close(0))
  const ask = (path: string, method = 'GET', headers: Record<string, string> = {}) =>
    fetch(`${listener.url}${path}`, { method, headers })
  return { ask, lines }
}

describe('the ops listener', () => {
  test('serves liveness, readiness and metrics, and nothing else', async () => {
    let copied = 0.42
    const { ask } = await start(() => copied)
    expect(await (await ask('/healthz')).json()).toEqual({ ready: true, checks: { process: true } })
    const waiting = await ask('/readyz')
    expect([waiting.status, await waiting.json()]).toEqual([503, { ready: false, checks: { copy: 0.42 } }])
    copied = 1
    expect((await ask('/readyz')).status).toBe(200)
    expect(await (await ask('/metrics')).text()).toContain('bridge_build_info{version="1"} 1')
    expect(await (await ask('/metric')).json()).toMatchObject({ detail: expect.stringContaining('/metrics') })
    expect((await ask('/metrics', 'POST')).headers.get('allow')).toBe('GET, HEAD')
  })

  test('gives OpenMetrics to a scraper that asks for it, and only where there are exemplars', async () => {
    const asPrometheus =
      'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'
    const types = async (traced: boolean, ...accepts: string[]) => {
      const { ask } = await start(() => 1, traced)
      return Promise.all(
        accepts.map(async (accept) => {
          const response = await ask('/metrics', 'GET', { accept })
          const isOpen = (await response.text()).endsWith('# EOF\n')
          return [response.headers.get('content-type')?.split(';')[0], isOpen]
        }),
      )
    }
    const open = ['application/openmetrics-text', true]
    const plain = ['text/plain', false]
    const asked = [asPrometheus, 'text/plain', '*/*', 'application/openmetrics-text; q=0, text/plain']
    expect(await types(true, ...asked)).toEqual([open, plain, plain, plain])
    expect(await types(false, ...asked)).toEqual([plain, plain, plain, plain])
  })

  test('says that polling is paused, and is ready all the same', async () => {
    let isPaused = true
    const { ask } = await start(
      () => true,
      false,
      () => isPaused,
    )
    const paused = await ask('/readyz')
    const ready = { ready: true, checks: { copy: true } }
    expect([paused.status, await paused.json()]).toEqual([200, { ...ready, polling: 'paused' }])
    isPaused = false
    expect(await (await ask('/readyz')).json()).toEqual(ready)
  })

  test('logs a check that throws once, until it passes again', async () => {
    let outcome = ''
    const { ask, lines } = await start(() => {
      if (outcome === 'throws') throw new Error('disk')
      return outcome === 'passes'
    })
    const failures = () => lines.filter(({ event }) => event === 'readiness.check_failed')
    const logged: [string, number][] = []
    for (outcome of ['throws', 'throws', 'fails', 'throws', 'passes', 'throws']) {
      expect((await ask('/readyz')).status).toBe(outcome === 'passes' ? 200 : 503)
      logged.push([outcome, failures().length])
    }
    expect(logged).toEqual([
      ['throws', 1],
      ['throws', 1],
      ['fails', 1],
      ['throws', 1],
      ['passes', 1],
      ['throws', 2],
    ])
    expect(failures()[0]?.fields).toMatchObject({ check: 'copy' })
  })
})
