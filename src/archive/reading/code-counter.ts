/**
 * Counts the kept events that have a category code. It counts in spans of sequences and remembers those that are complete, so
 * only the first and the last one are counted again.
 */
import type { Archive } from '../store/archive.ts'
import type { CategoryKind } from '../store/directory.ts'
import { countCode } from './directory-entries.ts'
import type { SearchSlices } from './search-slices.ts'

/** Events of a span: of a code that a third of them has, they take ten milliseconds on a busy machine. */
const SPAN = 100_000

/** Counts events by code. */
export class CodeCounter {
  readonly #archive: Archive
  readonly #slices: SearchSlices
  /** By kind and code: the count of each complete span, by its number. */
  readonly #known = new Map<string, Map<number, number>>()
  readonly #span: number
  #filling: number

  /** `span`: events that are counted at a time; fewer in tests. */
  constructor(archive: Archive, slices: SearchSlices, span = SPAN) {
    this.#span = span
    this.#archive = archive
    this.#slices = slices
    this.#filling = archive.filling
  }

  /** How many kept events up to `latest` have the code; fewer once `gone` aborts. `caller` shares the searches of the archive. */
  async count(
    kind: CategoryKind,
    code: string,
    latest: number,
    { gone, caller }: { gone: AbortSignal; caller: string },
  ): Promise<number> {
    const { filling, oldest } = this.#archive
    if (filling !== this.#filling) this.#known.clear()
    this.#filling = filling
    const key = `${kind} ${code}`
    const known = this.#known.get(key) ?? new Map<number, number>()
    this.#known.set(key, known)
    let count = 0
    for (let after = oldest - 1; after < latest && !gone.aborted; ) {
      const span = Math.floor(after / this.#span)
      const range = { after, through: Math.min((span + 1) * this.#span, latest) }
      const isComplete = range.through - range.after === this.#span
      const earlier = isComplete ? known.get(span) : undefined
      const found =
        earlier ?? (await this.#slices.run(() => countCode(this.#archive, kind, code, range), caller))
      if (isComplete && this.#archive.filling === filling) known.set(span, found)
      count += found
      after = range.through
    }
    return count
  }
}
