/**
 * Releases what the start of a process has acquired, such as listeners and files, in reverse order. If the start fails half
 * way, it releases what was acquired until then.
 */

/** Release steps, the newest on top. */
export interface ReleaseStack {
  /** Adds the release of what was just acquired; `name` appears in errors. */
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
        faults.push(new Error(`${step.name} could not be released`, { cause }))
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
