/** Returns a promise that resolves when an abort signal aborts. */

/** Resolves when the signal aborts, at once if it already has. Never rejects. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
