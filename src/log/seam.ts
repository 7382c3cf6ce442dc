/**
 * Where a test may break a commit. Owns the two places. In production there is no seam.
 */

/** What either function throws ends the commit there, as a crash or a lost answer would. */
export interface Seam {
  /** Called when everything is written and nothing is durable. */
  beforeCommit?(): void
  /** Called when everything is durable and visible, before the writer's caller hears of it. */
  afterCommit?(): void
}
