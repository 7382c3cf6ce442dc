/**
 * Which lane an endpoint belongs to. Owns the number of lanes and the hash: both lie in the log, so neither may ever change.
 */
import { hash } from 'node:crypto'

/** The lanes' name in the log. */
export const LANES = 'webhooks'
/** How many there are. */
export const LANE_COUNT = 64

/** The lane of an endpoint, from 0 on: the first four bytes of SHA-256 of its id, big-endian, modulo `LANE_COUNT`. */
export function laneOf(endpointId: string): number {
  return hash('sha256', endpointId, 'buffer').readUInt32BE() % LANE_COUNT
}
