/** Measures how long a piece of work takes and how long it blocks the event loop. */

/** Milliseconds that `work` takes, and the longest block of the event loop. */
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
