/**
 * What a start has taken hold of, to be let go of in the opposite order. Owns the order, and that a start which fails
 * half way leaves nothing open. Refuses to know what it releases.
 */

export interface ReleaseStack {
  /** Adds what undoes the step just done. */
  push(name: string, release: () => Promise<void> | void): void
  /**
   * Releases everything, newest first; a failing release does not stop the others. Callable twice: the second call
   * waits for the first. Throws an AggregateError that names what failed.
   */
  release(): Promise<void>
}

/** An empty stack. */
export function createReleaseStack(): ReleaseStack {
  const steps: { name: string; release: () => Promise<void> | void }[] = []
  let released: Promise<void> | null = null
  const releaseAll = async (): Promise<void> => {
    const faults: Error[] = []
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      try {
        await step.release()
      } catch (cause) {
        faults.push(new Error(`${step.name} was not released cleanly`, { cause }))
      }
    }
    if (faults.length > 0) throw new AggregateError(faults, faults.map((fault) => fault.message).join('; '))
  }
  return {
    push(name, release) {
      steps.push({ name, release })
    },
    release() {
      released ??= releaseAll()
      return released
    },
  }
}
