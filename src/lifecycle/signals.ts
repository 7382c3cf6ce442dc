/**
 * Turns SIGTERM and SIGINT into an abort signal: the first asks for a clean stop, a second one exits the process at once.
 */

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const
/** 128 + the number of the signal, as shells report it. */
const EXIT_CODES = { SIGTERM: 143, SIGINT: 130 }

/** Runs `work` with a signal that aborts at the first SIGTERM or SIGINT. Removes the handlers when it ends. */
export async function withStopSignal(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController()
  const onSignal = (name: (typeof STOP_SIGNALS)[number]): void => {
    if (stop.signal.aborted) process.exit(EXIT_CODES[name])
    stop.abort()
  }
  for (const name of STOP_SIGNALS) process.on(name, onSignal)
  try {
    await work(stop.signal)
  } finally {
    for (const name of STOP_SIGNALS) process.off(name, onSignal)
  }
}
