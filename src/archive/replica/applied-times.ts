/**
 * Remembers when the newest events became visible to readers of a node: one point for each batch of events, in memory. A node
 * tells its newest points to the others, which remember them too.
 */

/** Points that are kept: one for each commit with events. A usual day has fewer than two thousand. */
const MOST_POINTS = 4096

/** Every event up to `sequence`, and after the point before it, became visible at `atMs`, ms since 1970 by the node's clock. */
export type AppliedPoint = readonly [sequence: number, atMs: number]

/** Consecutive points of one epoch. */
export interface AppliedPoints {
  epoch: string
  /** The points tell of the events after this sequence. */
  after: number
  points: readonly AppliedPoint[]
}

/** When an event became visible: a time, not yet, or it was so long ago or so early that it is not known. */
export type Applied = { kind: 'at'; atMs: number } | { kind: 'not_yet' } | { kind: 'not_kept' }

/** The points of one node. */
export class AppliedTimes {
  #epoch: string | null = null
  #after = 0
  #points: AppliedPoint[] = []

  /** Notes that the events after `after`, up to `sequence`, are visible now. A hole or another epoch begins anew. */
  note(epoch: string, after: number, [sequence, atMs]: AppliedPoint): void {
    if (epoch !== this.#epoch || after !== this.#through) {
      this.#epoch = epoch
      this.#after = after
      this.#points = []
    }
    this.#points.push([sequence, atMs])
    if (this.#points.length <= MOST_POINTS) return
    const [dropped] = this.#points.splice(0, 1)
    this.#after = dropped?.[0] ?? this.#after
  }

  /** Adds the points that another node told of, of which some may be known. */
  add({ epoch, after, points }: AppliedPoints): void {
    let before = after
    const known = epoch === this.#epoch ? this.#through : -1
    for (const point of points) {
      const [sequence] = point
      // Points that overlap tell of the same events.
      if (sequence > known) this.note(epoch, before < known ? known : before, point)
      before = sequence
    }
  }

  /** Forgets everything. */
  clear(): void {
    this.#epoch = null
    this.#points = []
  }

  /** When the event of that epoch became visible. */
  of(epoch: string, sequence: number): Applied {
    if (epoch !== this.#epoch || sequence <= this.#after) return { kind: 'not_kept' }
    const point = this.#points.find(([last]) => last >= sequence)
    return point === undefined ? { kind: 'not_yet' } : { kind: 'at', atMs: point[1] }
  }

  /** The newest points since that time, at most `limit`; undefined where there are none. */
  newest(sinceMs: number, limit: number): AppliedPoints | undefined {
    const newest = this.#points.slice(-limit)
    const first = newest.findIndex(([, atMs]) => atMs >= sinceMs)
    if (this.#epoch === null || first < 0) return undefined
    const points = newest.slice(first)
    const before = this.#points[this.#points.length - points.length - 1]
    return { epoch: this.#epoch, after: before?.[0] ?? this.#after, points }
  }

  get #through(): number {
    return this.#points.at(-1)?.[0] ?? this.#after
  }
}
