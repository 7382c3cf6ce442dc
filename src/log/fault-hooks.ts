/**
 * Defines the fault-injection hooks with which tests interrupt a commit or a claim (the take-over of the log by a new
 * writer). Production sets none.
 */

/**
 * An error that a hook throws ends the claim or commit at that point, as a crash or a lost acknowledgement would. Where a
 * hook may return a promise, the claim or commit waits for it.
 */
export interface FaultHooks {
  /** Called when a claim has fenced every earlier writer, and has read nothing. Kafka only. */
  afterFence?(): void | Promise<void>
  /** Called when a claim's fencing token is durable, before the state up to it is read. Kafka only. */
  afterFencingToken?(): void | Promise<void>
  /** Called when a part of a commit is written. Kafka only, with the names of all topics that the commit writes to. */
  afterSend?(topics: readonly string[]): void | Promise<void>
  /** Called when everything is written and nothing is durable. `topics`: Kafka only. */
  beforeCommit?(topics?: readonly string[]): void
  /** Called when everything is durable and visible, before the operation resolves. `topics`: Kafka only. */
  afterCommit?(topics?: readonly string[]): void
}
