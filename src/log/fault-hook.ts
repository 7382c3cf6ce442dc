/**
 * Where a test may break a claim or a commit. Owns the places. In production there is no seam.
 */

/**
 * What any of these functions throws ends the claim or commit there, as a crash or a lost answer would. Where one may
 * give a promise, the claim or commit waits for it.
 */
export interface Seam {
  /** Called when a claim has fenced every earlier writer, and has read nothing. Kafka only. */
  afterFence?(): void | Promise<void>
  /** Called when a claim's own mark is durable, before what it leads to is read. Kafka only. */
  afterNonce?(): void | Promise<void>
  /** Called when a part of a commit is written. Kafka only, as are the names of the topics the whole commit writes to. */
  afterSend?(topics: readonly string[]): void | Promise<void>
  /** Called when everything is written and nothing is durable. `topics`: Kafka only. */
  beforeCommit?(topics?: readonly string[]): void
  /** Called when everything is durable and visible, before the writer's caller hears of it. `topics`: Kafka only. */
  afterCommit?(topics?: readonly string[]): void
}
