/** What the leader answers to requests of the nodes while polling is paused. */
import { refused } from './leader-reply.ts'

/** The reply to every request that would go upstream while polling is paused. */
export const PAUSED = refused(
  503,
  'the operator of this bridge has paused all requests to the upstream',
  'Ask the operator when they are resumed.',
  60_000,
)
