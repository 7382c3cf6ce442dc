/** Measures how long this thread's event loop is held: processor time, so that other work on the machine does not count. */

/** Watches the event loop until the function that it returns is called; that returns the longest hold, ms. */
export function watchEventLoop(): () => number {
  let [longestMs, isWatched, sinceMs] = [0, true, threadMs()]
  const turn = (): void => {
    const nowMs = threadMs()
    longestMs = Math.max(longestMs, nowMs - sinceMs)
    sinceMs = nowMs
    if (isWatched) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    isWatched = false
    return Math.max(longestMs, threadMs() - sinceMs)
  }
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
