import { expect, test } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import type { KafkaSession } from '../../../src/log-kafka/client/client.ts'
import { StateTail } from '../../../src/log-kafka/writer/state-tail.ts'
import { FENCING_TOKEN_KEY } from '../../../src/log-kafka/writer/writer-state.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

/** A state topic with these rows, one fetch for each. */
function tailOf(rows: readonly (readonly [key: string, value: string])[]) {
  const ended = new AbortController()
  const partitions = {
    offsets: async () => ({ earliest: 0, end: rows.length }),
    async fetch(_topic: string, offset: number) {
      const row = rows[offset]
      if (row === undefined) ended.abort()
      const records =
        row === undefined
          ? []
          : [{ offset, key: Buffer.from(row[0]), value: Buffer.from(row[1]), headers: {} }]
      const nextOffset = offset + records.length
      return { errorCode: 0, records, nextOffset, lastStableOffset: rows.length }
    },
  }
  const openSession = () => ({ partitions, end: () => undefined }) as unknown as KafkaSession
  const parts = { openSession, clock: systemClock, logger: keepingLogger().logger }
  return { tail: new StateTail(parts, 'state'), run: (tail: StateTail) => tail.run(ended.signal) }
}

test('a claim waits for its own token, not for that of another claim, and so reads everything before its own', async () => {
  const { tail, run } = tailOf([
    ['head/sequence', '1'],
    [FENCING_TOKEN_KEY, 'of another claim'],
    ['head/sequence', '2'],
    ['ledger/0', '{"poll":1}'],
    [FENCING_TOKEN_KEY, 'own'],
    ['head/sequence', '3'],
  ])
  const rows = tail.rowsAt('own')
  await run(tail)
  expect(await rows).toEqual(
    new Map([
      ['head/sequence', '2'],
      [FENCING_TOKEN_KEY, 'own'],
      ['ledger/0', '{"poll":1}'],
    ]),
  )
})
