/**
 * Assigns every webhook endpoint to one of 64 shards by a hash of its id. Neither the number of shards nor the hash may
 * ever change, because stored state is placed by them.
 */
import { hash } from 'node:crypto'

/** The name of the shards in the log. */
export const SHARDS = 'webhooks'
/** Number of shards. */
export const SHARD_COUNT = 64

/** The shard of an endpoint, from 0 on: the first four bytes of SHA-256 of its id, big-endian, modulo `SHARD_COUNT`. */
export function shardOf(endpointId: string): number {
  return hash('sha256', endpointId, 'buffer').readUInt32BE() % SHARD_COUNT
}
