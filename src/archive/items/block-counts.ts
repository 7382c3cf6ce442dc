/**
 * Remembers for a search of items how many revisions match in each block of sequences, so that its later pages and totals
 * look only at blocks that their page lies in. An event never changes, so a count stays true; what changes is which
 * revisions later ones have replaced, and those are remembered one by one.
 */

/** How counts are kept. */
export interface CountOptions {
  /** Sequences of a block. A page of a rare match looks through one block for each of its items, in 2 ms. */
  block: number
  /** Lists over fewer sequences are searched anew: without an index that takes a second. */
  leastSpan: number
  /** Searches that are remembered: 80 to 160 KB each over ten million events. */
  searches: number
}

/** Used by the product. */
export const COUNT_OPTIONS: CountOptions = { block: 512, leastSpan: 262_144, searches: 64 }

/** Replacements that one search remembers; with more its counts are made anew. */
const MOST_REPLACED = 20_000

/** A revision that matches, and the sequence of the one that replaced it; null where none has. */
export interface Matching {
  sequence: number
  supersededBy: number | null
}

/** The counts of one search. The sequences of block n are those above n · block, up to (n + 1) · block. */
export class BlockCounts {
  readonly #block: number
  /** The last sequence when counting began. */
  readonly #began: number
  /** Two by block: the matching revisions and one more, 0 = not counted; and those of them replaced before counting began. */
  #counts = new Uint16Array(0)
  /** By block: by sequence of a matching revision, the sequence that has replaced it since counting began. */
  readonly #replaced = new Map<number, Map<number, number>>()
  #replacements = 0
  /** Every replacement up to this sequence is remembered, in blocks that are not counted too. */
  noted: number

  constructor(block: number, latest: number) {
    this.#block = block
    this.#began = latest
    this.noted = latest
  }

  /** So many replacements are remembered that counting anew takes less memory. */
  get isFull(): boolean {
    return this.#replacements > MOST_REPLACED
  }

  /** How many revisions match in the block that ends with `through`; null where that is no end, or it is not counted. */
  matching(through: number): number | null {
    if (through % this.#block !== 0) return null
    const count = this.#counts[2 * (through / this.#block - 1)] ?? 0
    return count === 0 ? null : count - 1
  }

  /** As `matching`, without the revisions that were replaced when `asOf`, not before the first request, was the last sequence. */
  visible(through: number, asOf: number): number | null {
    const matching = this.matching(through)
    if (matching === null) return null
    const block = through / this.#block - 1
    const replaced = this.#replaced.get(block)?.values() ?? []
    return matching - (this.#counts[2 * block + 1] ?? 0) - [...replaced].filter((by) => by <= asOf).length
  }

  /** Where the block ends that comes before the one with this sequence; 0 for the first one. */
  before(sequence: number): number {
    return Math.floor((sequence - 1) / this.#block) * this.#block
  }

  /** Remembers that an event since counting began has replaced a revision which matches. */
  replace(sequence: number, by: number): void {
    const block = this.before(sequence) / this.#block
    const known = this.#replaced.get(block) ?? new Map<number, number>()
    if (!known.has(sequence)) this.#replacements += 1
    this.#replaced.set(block, known.set(sequence, by))
  }

  /** A recorder of what one scan finds on its way to older events. */
  recorder(): CountRecorder {
    return new CountRecorder(this)
  }

  /** True where the revision was replaced before counting began. */
  isOld({ supersededBy }: Matching): boolean {
    return supersededBy !== null && supersededBy <= this.#began
  }

  /** Remembers the counts of the block that ends with `through`: what matches, and how much of that is old. */
  count(through: number, { matching, old }: { matching: number; old: number }): void {
    const at = 2 * (through / this.#block - 1)
    if (at >= this.#counts.length) {
      const larger = new Uint16Array(Math.max(at + 2, this.#counts.length * 2))
      larger.set(this.#counts)
      this.#counts = larger
    }
    this.#counts[at] = matching + 1
    this.#counts[at + 1] = old
  }
}

/** Counts the blocks that a scan has seen from their end to their beginning, over any number of windows. */
class CountRecorder {
  readonly #counts: BlockCounts
  /** Down to where the scan has come without a gap. */
  #position = Number.NaN
  /** End of the block in which that is, if the scan saw it from its end on; and what matched of it so far. */
  #end: number | null = null
  #matching = 0
  #old = 0

  constructor(counts: BlockCounts) {
    this.#counts = counts
  }

  /** The scan has seen `after` < sequence ≤ `through`; `matching`: what matches there, newest first. */
  saw({ after, through }: { after: number; through: number }, matching: readonly Matching[]): void {
    if (through !== this.#position) this.#end = null
    let next = 0
    for (let position = through; position > after; ) {
      const low = this.#counts.before(position)
      const isEnd = this.#counts.before(position + 1) === position
      if (isEnd) [this.#end, this.#matching, this.#old] = [position, 0, 0]
      const to = Math.max(low, after)
      for (let found = matching[next]; found !== undefined && found.sequence > to; found = matching[next]) {
        this.#matching += 1
        if (this.#counts.isOld(found)) this.#old += 1
        next += 1
      }
      if (to === low && this.#end !== null) {
        this.#counts.count(this.#end, { matching: this.#matching, old: this.#old })
      }
      position = to
    }
    this.#position = after
  }
}

/** The counts of recently used searches of one archive. */
export class CountCache {
  readonly #options: CountOptions
  readonly #counts = new Map<string, BlockCounts>()
  #filling: unknown = null

  constructor(options: CountOptions) {
    this.#options = options
  }

  /**
   * The counts of the search with that key, the least recently used ones make room; new ones for a list over few sequences.
   * `filling` identifies what the archive is filled with: counts of another filling are dropped.
   */
  for(
    key: string,
    { span, latest, filling }: { span: number; latest: number; filling: unknown },
  ): BlockCounts {
    if (filling !== this.#filling) this.#counts.clear()
    this.#filling = filling
    const known = this.#counts.get(key)
    const found = known === undefined || known.isFull ? new BlockCounts(this.#options.block, latest) : known
    if (span < this.#options.leastSpan) return found
    this.#counts.delete(key)
    this.#counts.set(key, found)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size > this.#options.searches && oldest !== undefined) this.#counts.delete(oldest)
    return found
  }
}
