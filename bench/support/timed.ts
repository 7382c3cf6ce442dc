/**
 * How long a piece of work takes and how long it kept everybody else waiting. Owns the measuring only.
 */

/** Milliseconds that `work` takes, and the longest that it kept the event loop from turning. */
export async function timed(work: () => unknown): Promise<{ tookMs: number; heldMs: number }> {
  const startMs = performance.now()
  let turnedMs = startMs
  let heldMs = 0
  let done = false
  const turn = (): void => {
    const nowMs = performance.now()
    heldMs = Math.max(heldMs, nowMs - turnedMs)
    turnedMs = nowMs
    if (!done) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  const endMs = performance.now()
  done = true
  return { tookMs: endMs - startMs, heldMs: Math.max(heldMs, endMs - turnedMs) }
}
