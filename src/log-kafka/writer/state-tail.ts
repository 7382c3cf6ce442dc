/**
 * The live copy of the state topic. Owns the rows as they stand, and the moment at which a claim's nonce was read:
 * whatever earlier writers have committed lies before it. Refuses to understand the rows: `writer-state.ts` does.
 */

import type { ReaderParts } from '../client/connection.ts'
import { readPartition } from '../reading/partition-reader.ts'
import { FENCING_TOKEN_KEY } from './writer-state.ts'

export interface StateTail {
  /** The rows as they stood when this nonce was read. To be called before the nonce is written. Never rejects. */
  reached(nonce: string): Promise<ReadonlyMap<string, string>>
  /** Reads until the signal aborts, then resolves. */
  run(signal: AbortSignal): Promise<void>
}

/** A tail of that topic that has read nothing yet. */
export function createStateTail(parts: ReaderParts, topic: string): StateTail {
  const rows = new Map<string, string>()
  const waiting = new Map<string, (rows: ReadonlyMap<string, string>) => void>()
  return {
    reached(nonce) {
      return new Promise((resolve) => waiting.set(nonce, resolve))
    },
    async run(signal) {
      for await (const { records, rewound } of readPartition(parts, topic, 'compacted', signal)) {
        if (rewound !== null) rows.clear()
        for (const { key, value } of records) {
          const name = String(key)
          if (value === null) rows.delete(name)
          else rows.set(name, value.toString('utf8'))
          if (name !== FENCING_TOKEN_KEY) continue
          const nonce = String(value)
          waiting.get(nonce)?.(new Map(rows))
          waiting.delete(nonce)
        }
      }
    },
  }
}
