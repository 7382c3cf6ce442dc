/**
 * Measures the event loop once a second: its longest delay, and how long it was busy. Node's own gauges are reset by each
 * scrape, so that two who scrape take each other's maxima.
 */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import type { Metrics } from './metrics.ts'

/** Between two observations, ms. */
const OBSERVED_MS = 1000
/** Node looks at the delay so often, ms; each of its figures includes this time. */
const LOOK_MS = 50

/** Measures until the signal aborts. */
export async function measureEventLoop(
  { clock, metrics }: { clock: Clock; metrics: Pick<Metrics, 'eventLoopDelay' | 'eventLoopBusy'> },
  signal: AbortSignal,
): Promise<void> {
  const delays = monitorEventLoopDelay({ resolution: LOOK_MS })
  delays.enable()
  let before = performance.eventLoopUtilization()
  while (!signal.aborted) {
    await sleep(clock, OBSERVED_MS, signal)
    const now = performance.eventLoopUtilization()
    metrics.eventLoopBusy.add({}, performance.eventLoopUtilization(now, before).active / 1000)
    before = now
    metrics.eventLoopDelay.observe({}, Math.max(0, delays.max / 1e6 - LOOK_MS) / 1000)
    delays.reset()
  }
  delays.disable()
}
