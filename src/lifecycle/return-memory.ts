/**
 * Has V8 give freed pages back to the system. By itself it keeps those of the largest burst in a pool, for hours, and resident
 * memory stays as large.
 */
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'

/** Pages are given back where the last collection was so long ago, ms: in a burst the next one would need them again. */
const CALM_MS = 10_000

/**
 * A collection of the whole heap gives its freed pages back where none came for `calmMs` before it. Such a collection takes about
 * twice the time, so it takes little of all.
 */
export function returnMemory(calmMs = CALM_MS): Disposable {
  let wholeMs = 0
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (isOfWholeHeap(entry)) wholeMs = entry.startTime
      // V8 looks at this flag when a collection begins.
      setFlagsFromString(
        entry.startTime - wholeMs >= calmMs ? '--optimize-for-size' : '--no-optimize-for-size',
      )
    }
  })
  observer.observe({ entryTypes: ['gc'] })
  return { [Symbol.dispose]: () => observer.disconnect() }
}

/** Entries of `gc` have a detail that the types do not know. */
function isOfWholeHeap(entry: PerformanceEntry & { detail?: { kind?: number } }): boolean {
  return entry.detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR
}
