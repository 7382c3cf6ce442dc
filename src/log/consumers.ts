/** Defines what the log knows of readers outside that keep their position in it: consumer groups on Kafka. */

/** What a group is doing; null: the cluster does not say so to us. */
export type GroupState = 'stable' | 'rebalancing' | 'empty' | null

/** How far a group is in one topic. */
export interface TopicLag {
  /** Its name in the cluster. */
  topic: string
  /** Events after the group's position; null where they could not be read, are no events, or the topic no longer has it. */
  events: number | null
  /** How long ago the bridge first held the next of them, ms; 0 where there is none, null as `events`. */
  ms: number | null
}

/** A group with a position in a topic of the log. */
export interface ConsumerGroup {
  group: string
  state: GroupState
  /** Consumers that are in it now; null as `state`. */
  members: number | null
  topics: TopicLag[]
}

/** Which groups to list. */
export interface ConsumerPage {
  /** Groups whose names come after this one; null: from the first. */
  after: string | null
  limit: number
}

/** Groups in the order of their names. */
export interface ConsumerGroups {
  groups: ConsumerGroup[]
  /** The name that the next page comes after; null at the end. A page that has one may have few groups, or none. */
  next: string | null
  /** Why groups, or facts about them, may be missing, in sentences; null where everything is there. */
  incomplete: string | null
}
