/**
 * Limits the part of V8's heap where new objects lie to twice 4 MB while there is little to do. V8 doubles it whenever
 * much survives, up to twice 64 MB, and then collects the garbage of a flood of requests 100 MB too late.
 */
import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** Of each of its two halves: less costs time, and with 16 MB 10,000 refused requests leave 90 to 120 MB of garbage. */
const MOST_BYTES = 4 * 1024 * 1024
/** The same while much is under way: 64 MB, as V8 likes, takes no less time, and what a burst took so is kept for hours. */
const MOST_BUSY_BYTES = 16 * 1024 * 1024
/** V8's own factor. */
const USUAL_FACTOR = 2

/** Keeps it at its first size, 1 MB. Call it before the heap has grown: V8 takes no other limit once it has started. */
export function holdYoungGeneration(): void {
  allowFactor(1)
}

/**
 * Collects all garbage whenever the heap has grown by 30 % since the last time, where V8 waits until it has doubled and more.
 * V8 keeps the pages of its largest heap for long: at ten times the usual day that is up to 90 MB less so, for less than a
 * tenth more processor time.
 */
export function holdHeap(): void {
  setFlagsFromString('--heap-growing-percent=30')
}

/**
 * Lets it grow to the limit in one step, also after V8 has made it small again in idle time. While `needsMore` it grows as
 * V8 does, up to twice 16 MB: work that makes many objects for long, such as many deliveries to webhooks, takes a fifth less
 * time so.
 */
export function limitYoungGeneration(needsMore: () => boolean): Disposable {
  const allow = (): void => {
    const isBusy = needsMore()
    const factor = Math.max(1, Math.floor((isBusy ? MOST_BUSY_BYTES : MOST_BYTES) / halfBytes()))
    allowFactor(isBusy ? Math.min(USUAL_FACTOR, factor) : factor)
  }
  const observer = new PerformanceObserver(allow)
  observer.observe({ entryTypes: ['gc'] })
  allow()
  return { [Symbol.dispose]: () => observer.disconnect() }
}

function allowFactor(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`)
}

function halfBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  return Math.max(1, space?.space_size ?? 0) / 2
}
