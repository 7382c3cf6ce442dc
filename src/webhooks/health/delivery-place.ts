/**
 * Finds how far the deliveries of an endpoint have come with an event: exactly on the node that delivers, and from its reports
 * on others.
 */
import type { StoredEvent } from '../../archive/store/stored.ts'
import { MINUTE_MS } from '../../core/durations.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Endpoint } from '../../registry/endpoints.ts'
import type { EndpointMachine } from '../delivery-state/endpoint-machine.ts'
import type { DeliveryStanding } from '../delivery-state/endpoint-state.ts'

/** Events that are younger may be missing in the last report of the node that delivers. */
const RECENT_MS = 2 * MINUTE_MS

/**
 * `unread`: the endpoint's position is before the event. `unfinished`: its delivery is under way or waits. `recent`: the report
 * may be older than the event. `passed`: the event is behind the position and nothing waits. `unknown`: no node has said.
 */
export type DeliveryPlace = 'unread' | 'unfinished' | 'recent' | 'passed' | 'unknown'

/** What places are found from. */
export interface PlaceSources {
  /** The state machine of the endpoint; null where another node delivers, or none. */
  machineOf: (endpointId: string) => Pick<EndpointMachine, 'cursors' | 'isUnfinished'> | null
  /** How the deliveries of an endpoint stood some seconds ago; null where no node has said. */
  standingOf: (endpoint: Endpoint) => DeliveryStanding | null
  clock: Clock
}

/** Finds the place of an endpoint's deliveries. */
export type PlaceOf = (
  endpoint: Endpoint,
  event: Pick<StoredEvent, 'sequence' | 'recordedMs'>,
) => DeliveryPlace

/** Finds places as this node knows them. */
export function createPlaceOf({ machineOf, standingOf, clock }: PlaceSources): PlaceOf {
  return (endpoint, { sequence, recordedMs }) => {
    const machine = machineOf(endpoint.id)
    if (machine !== null) {
      if (machine.isUnfinished(sequence)) return 'unfinished'
      return sequence > machine.cursors.live.progress.readTo ? 'unread' : 'passed'
    }
    const standing = standingOf(endpoint)
    if (standing === null) return 'unknown'
    if (sequence > (standing.unreadAfter ?? sequence)) return 'unread'
    if (Math.abs(clock.now() - recordedMs) < RECENT_MS) return 'recent'
    // Nothing waits that is as old as the event.
    return standing.oldestMs === null || recordedMs < standing.oldestMs ? 'passed' : 'unknown'
  }
}
