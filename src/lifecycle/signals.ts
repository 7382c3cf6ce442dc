/**
 * Turns SIGTERM and SIGINT into an abort signal: the first asks for a clean stop, a second one exits the process at once.
 */

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const
/** 128 + the number of the signal, as shells report it. */
const EXIT_CODES = { SIGTERM: 143, SIGINT: 130 }

/** Runs `work` with a signal that aborts at the first SIGTERM or SIGINT, as its reason says. Removes the handlers when it ends. */
export async function withStopSignal(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController()
  const onSignal = (name: (typeof STOP_SIGNALS)[number]): void => {
    if (stop.signal.aborted) process.exit(EXIT_CODES[name])
    stop.abort(new DOMException(name, 'AbortError'))
  }
  for (const name of STOP_SIGNALS) process.on(name, onSignal)
  try {
    await work(stop.signal)
  } finally {
    for (const name of STOP_SIGNALS) process.off(name, onSignal)
  }
}

/** Calls back at each of these signals, which ends the process no longer. Returns a function that ends this. */
export function onSignal(name: 'SIGHUP' | 'SIGUSR2', take: () => void): () => void {
  process.on(name, take)
  return () => void process.off(name, take)
}

/** The system signal that aborted this one, e.g. `SIGTERM`; `requested` where no system signal did. */
export function stopReason({ reason }: AbortSignal): string {
  const name = reason instanceof DOMException ? reason.message : ''
  return STOP_SIGNALS.find((known) => known === name) ?? 'requested'
}

/**
 * Calls back with an error that nothing caught, before Node prints it and ends the process with code 1. Returns a function
 * that ends this.
 */
export function onUncaught(take: (error: unknown) => void): () => void {
  process.on('uncaughtExceptionMonitor', take)
  return () => void process.off('uncaughtExceptionMonitor', take)
}
