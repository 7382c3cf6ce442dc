/** Types of what kafkajs 2.2.4 writes batches with, as far as `record-batch.test.ts` uses it. Read off its source. */

declare module 'kafkajs/src/protocol/recordBatch/record/v0/index.js' {
  function encodeRecord(record: {
    offsetDelta: number
    /** ms. */
    timestampDelta: number
    key: Buffer | null
    value: Buffer | null
    headers: Record<string, Buffer | Buffer[]>
  }): object
  export = encodeRecord
}

declare module 'kafkajs/src/protocol/recordBatch/v0/index.js' {
  export function RecordBatch(batch: {
    /** 1: gzip. */
    compression?: number
    firstOffset: number
    firstTimestamp: number
    maxTimestamp: number
    lastOffsetDelta: number
    transactional: boolean
    producerId: number
    records: object[]
  }): Promise<{ buffer: Buffer }>
}
