/**
 * Follows the file of the upstream key, and gives the key that it holds now. A file that holds no key, or that is still being
 * written, leaves the key in use.
 */
import { BridgeError } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { followFiles, type ReadSeen } from '../lifecycle/followed-files.ts'
import type { Logger } from '../obs/logger.ts'
import type { Metrics } from '../obs/metrics.ts'
import { settingsSchema } from './schema.ts'

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

  constructor(parts: KeyFileParts) {
    this.#parts = parts
    this.#key = parts.key
  }

  /** The key for the next request. */
  get key(): string {
    return this.#key
  }

  /** Follows the file until the signal aborts. Calls `onTaken` when `key` is a new one. */
  run(signal: AbortSignal, onTaken: () => void): Promise<void> {
    const { path, clock, logger, metrics, onSecret } = this.#parts
    const files = {
      paths: [path],
      texts: [this.#key],
      read: (seen: ReadSeen) => keyIn(path, seen),
      take: (key: string) => {
        onSecret(key)
        this.#key = key
        metrics.keyReloaded.set(clock.now() / 1000)
        logger.info('upstream.key_reloaded')
        onTaken()
      },
      refuse: (error: unknown) => logger.error('upstream.key_refused', { error }),
    }
    return followFiles(files, clock, signal)
  }
}

function keyIn(path: string, seen: ReadSeen): string {
  let text: string
  try {
    text = seen(path)
  } catch (cause) {
    throw refusal('cannot be read', cause)
  }
  const key = settingsSchema.shape.BRIDGE_UPSTREAM_KEY.safeParse(text).data
  if (key === undefined) throw refusal('holds no API key')
  return key
}

function refusal(message: string, cause?: unknown): BridgeError {
  return new BridgeError('settings', `the file of BRIDGE_UPSTREAM_KEY_FILE ${message}`, {
    cause,
    hint: 'The key that was read before stays in use. Write the key alone into the file: 1 to 500 printable characters without blanks.',
  })
}
