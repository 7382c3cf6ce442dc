/** Reports records that no bridge wrote, which the readers of a topic skip. */

/** Which record of a topic it is. */
export interface RecordName {
  offset: number
  key: Buffer | string | null
}

type LogForeign = (fields: { topic: string; offset: number; name: string | null }) => void

/** The foreign records of one topic, as one reader meets them: the first one is logged. */
export class ForeignRecords {
  readonly #topic: string
  readonly #log: LogForeign
  #isLogged = false

  constructor(topic: string, log: LogForeign) {
    this.#topic = topic
    this.#log = log
  }

  /** To be called with each one that is skipped. */
  skipped({ offset, key }: RecordName): void {
    if (this.#isLogged) return
    this.#isLogged = true
    this.#log({ topic: this.#topic, offset, name: key === null ? null : `${key}` })
  }
}
