/**
 * Which shard an endpoint belongs to. Owns the number of shards and the hash: both lie in the log, so neither may ever change.
 */
import { hash } from 'node:crypto'

/** The shards' name in the log. */
export const SHARDS = 'webhooks'
/** How many there are. */
export const SHARD_COUNT = 64

/** The shard of an endpoint, from 0 on: the first four bytes of SHA-256 of its id, big-endian, modulo `SHARD_COUNT`. */
export function shardOf(endpointId: string): number {
  return hash('sha256', endpointId, 'buffer').readUInt32BE() % SHARD_COUNT
}
