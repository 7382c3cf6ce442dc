/** Reports records that no bridge wrote, which the readers of a topic skip. */
import type { Logger } from '../../obs/logger.ts'

/** Which record of a topic it is. */
export interface RecordName {
  offset: number
  key: string | null
}

/** The foreign records of one topic, as one reader meets them: the first one is logged. */
export class ForeignRecords {
  readonly #logger: Logger
  readonly #topic: string
  #isLogged = false

  constructor(logger: Logger, topic: string) {
    this.#logger = logger
    this.#topic = topic
  }

  /** To be called with each one that is skipped. */
  skipped({ offset, key }: RecordName): void {
    if (this.#isLogged) return
    this.#isLogged = true
    this.#logger.warn('log.foreign_record', { topic: this.#topic, offset, name: key })
  }
}
