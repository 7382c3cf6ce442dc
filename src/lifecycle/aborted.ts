/** Waiting for a signal. Owns nothing else. */

/** Resolves when the signal aborts, at once where it has. Never rejects. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
