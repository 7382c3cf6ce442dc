/** Declares the encoders of kafkajs 2.2.4 that `partition-protocol.test.ts` uses, as read from its source. */

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

declare module 'kafkajs/src/protocol/encoder.js' {
  class Encoder {
    readonly buffer: Buffer
    writeInt16(value: number): this
    writeInt32(value: number): this
    writeInt64(value: number): this
    writeString(value: string): this
    writeBufferInternal(bytes: Buffer): this
  }
  export = Encoder
}
