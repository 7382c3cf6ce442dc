/**
 * Follows the file of the upstream key, and gives the key that it holds now. A file that holds no key, or that is still being
 * written, leaves the key in use.
 */
import { BridgeError } from '../errors.ts'
import { type Clock, within } from '../lifecycle/clock.ts'
import { onHangUp } from '../lifecycle/signals.ts'
import { createWakeup } from '../lifecycle/wakeup.ts'
import type { Logger } from '../obs/logger.ts'
import type { Metrics } from '../obs/metrics.ts'
import { readTextFile } from './environment.ts'
import { settingsSchema } from './schema.ts'

/**
 * Between two looks. The content is compared, not the times of the file: Kubernetes swaps a link above it, and file systems
 * differ in what they notify of.
 */
const LOOK_MS = 5_000
/** A new content counts when it is the same after this time: it may be half written. */
const SETTLE_MS = 1_000

/** What the key file needs. */
export interface KeyFileParts {
  /** `BRIDGE_UPSTREAM_KEY_FILE`. */
  path: string
  /** What the start read from it. */
  key: string
  /** Called with each further key, before it is used: no log line may show it. */
  onSecret: (key: string) => void
  clock: Clock
  logger: Logger
  metrics: Pick<Metrics, 'keyReloaded'>
}

/** The key of a file. */
export class KeyFile {
  readonly #parts: KeyFileParts
  #key: string
  /** What cannot be used, and was logged; null where the file is well. */
  #refused: string | null = null

  constructor(parts: KeyFileParts) {
    this.#parts = parts
    this.#key = parts.key
  }

  /** The key for the next request. */
  get key(): string {
    return this.#key
  }

  /** Looks every few seconds, and at once at each SIGHUP, until the signal aborts. Calls `onTaken` when `key` is a new one. */
  async run(signal: AbortSignal, onTaken: () => void): Promise<void> {
    const { clock } = this.#parts
    const hungUp = createWakeup()
    const off = onHangUp(() => hungUp.wake())
    try {
      while (!signal.aborted) {
        await within(clock, LOOK_MS, signal, (waiting) => hungUp.wait(waiting))
        const seen = this.#read()
        if (signal.aborted || seen.text === this.#key) this.#refused = null
        else {
          await within(clock, SETTLE_MS, signal, (waiting) => hungUp.wait(waiting))
          const again = this.#read()
          if (!signal.aborted && again.text === seen.text && this.#take(again)) onTaken()
        }
      }
    } finally {
      off()
    }
  }

  /** Whether this is a key, which is in use from now on. */
  #take({ text, error }: { text: string | null; error?: unknown }): boolean {
    const { logger, metrics, clock, onSecret } = this.#parts
    const key = settingsSchema.shape.BRIDGE_UPSTREAM_KEY.safeParse(text ?? undefined).data
    if (key !== undefined && text !== null) {
      onSecret(key)
      this.#key = key
      this.#refused = null
      metrics.keyReloaded.set(clock.now() / 1000)
      logger.info('upstream.key_reloaded')
      return true
    }
    const what = text ?? 'unreadable'
    if (this.#refused === what) return false
    this.#refused = what
    const message = text === null ? 'cannot be read' : 'holds no API key'
    logger.error('upstream.key_refused', {
      error: new BridgeError('settings', `the file of BRIDGE_UPSTREAM_KEY_FILE ${message}`, {
        cause: error,
        hint: 'The key that was read before stays in use. Write the key alone into the file: 1 to 500 printable characters without blanks.',
      }),
    })
    return false
  }

  #read(): { text: string | null; error?: unknown } {
    try {
      return { text: readTextFile(this.#parts.path).trim() }
    } catch (error) {
      return { text: null, error }
    }
  }
}
