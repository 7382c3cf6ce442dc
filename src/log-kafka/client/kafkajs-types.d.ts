/**
 * Declares the unpublished parts of kafkajs 2.2.4 that `kafkajs-internals.ts`, `partition-protocol.ts` and
 * `kafkajs-patches.ts` use, as read from its source. Another version may differ, so the version is pinned.
 */

declare module 'kafkajs/src/broker/index.js' {
  class Broker {
    connectionPool: import('./kafkajs-internals.ts').KafkaJsBroker['connectionPool']
    allowAutoTopicCreation: boolean
    /** The newest version of a request that this broker and kafkajs know. */
    lookupRequest<T>(key: number, requests: { protocol(of: { version: number }): T }): T
    metadata(topics?: string[]): Promise<import('./kafkajs-patches.ts').DecodedMetadata>
    createTopics(asked: import('./kafkajs-patches.ts').AskedTopics): Promise<unknown>
    addPartitionsToTxn(partitions: import('./kafkajs-internals.ts').AddedPartitions): Promise<unknown>
    disconnect(): Promise<void>
  }
  export = Broker
}

declare module 'kafkajs/src/protocol/requests/metadata/index.js' {
  type Metadata = import('./kafkajs-patches.ts').DecodedMetadata
  const metadataRequests: {
    protocol(of: { version: number }): (asked: { topics: string[]; allowAutoTopicCreation: boolean }) => {
      request: unknown
      response: { decode(payload: Buffer): Promise<Metadata>; parse(decoded: Metadata): Promise<Metadata> }
    }
  }
  export = metadataRequests
}

declare module 'kafkajs/src/protocol/requests/createTopics/index.js' {
  type Created = import('./kafkajs-patches.ts').DecodedCreation
  const createTopicsRequests: {
    protocol(of: { version: number }): (asked: import('./kafkajs-patches.ts').AskedTopics) => {
      request: unknown
      response: { decode(payload: Buffer): Promise<Created>; parse(decoded: Created): Promise<Created> }
    }
  }
  export = createTopicsRequests
}

declare module 'kafkajs/src/cluster/index.js' {
  class Cluster {
    constructor(options: import('./kafkajs-internals.ts').ClusterOptions)
    /** kafkajs reads it, but never sets it. */
    retry?: import('kafkajs').RetryOptions
    connect(): Promise<void>
    disconnect(): Promise<void>
    refreshMetadata(): Promise<void>
    addMultipleTargetTopics(topics: string[]): Promise<void>
    findLeaderForPartitions(topic: string, partitions: number[]): Record<string, number[]>
    findGroupCoordinator(where: {
      groupId: string
      coordinatorType: number
    }): Promise<import('./kafkajs-internals.ts').KafkaJsBroker>
    findBroker(where: { nodeId: string }): Promise<import('./kafkajs-internals.ts').KafkaJsBroker>
  }
  export = Cluster
}

declare module 'kafkajs/src/network/connection.js' {
  class Connection {
    socketFactory: import('./kafkajs-patches.ts').ObservedSocketFactory
    isConnected(): boolean
    connect(): Promise<boolean>
    send(sent: { request: { apiKey: number } }): Promise<unknown>
  }
  export = Connection
}

declare module 'kafkajs/src/network/requestQueue/index.js' {
  class RequestQueue {
    pending: unknown[]
    /** ms since 1970. */
    throttledUntil: number
    /** Requests in flight, by correlation id; times in ms. */
    inflight: Map<number, { sentAt: number; requestTimeout: number; timeoutRequest(): void }>
    isConnected(): boolean
    /** Set while a check is scheduled: cancels it. */
    throttleCheckTimeoutId: (() => void) | null
    /** Added by `kafkajs-patches.ts`: cancels the scheduled check of timeouts. */
    cancelTimeoutCheck?: (() => void) | null
    push(request: unknown): void
    checkPendingRequests(): void
    scheduleCheckPendingRequests(): void
    scheduleRequestTimeoutCheck(): void
    destroy(): void
  }
  export = RequestQueue
}

declare module 'kafkajs/src/protocol/decoder.js' {
  class Decoder {
    constructor(bytes: Buffer)
    readInt16(): number
    readInt32(): number
    /** A 64-bit number that prints as decimal digits. */
    readInt64(): { toString(): string }
    readString(): string
    readBytes(length: number): Buffer
    readArray<T>(read: (decoder: Decoder) => T): T[]
    canReadBytes(length: number): boolean
  }
  export = Decoder
}

declare module 'kafkajs/src/protocol/requests/fetch/v11/request.js' {
  function fetchRequest(options: {
    replicaId: number
    isolationLevel: number
    maxWaitTime: number
    minBytes: number
    maxBytes: number
    topics: { topic: string; partitions: { partition: number; fetchOffset: number; maxBytes: number }[] }[]
  }): unknown
  export = fetchRequest
}

declare module 'kafkajs/src/protocol/recordBatch/v0/decoder.js' {
  type KafkaRecord = import('./partition-protocol.ts').KafkaRecord
  /** Records that were appended together. Compaction may remove some. 64-bit numbers are decimal digits. */
  interface RecordBatch {
    firstOffset: string
    lastOffsetDelta: number
    /** Of its latest record, ms since 1970; the append time where the topic is set so. */
    maxTimestamp: string
    producerId: string
    inTransaction: boolean
    /** The batch is a commit or abort marker. */
    isControlBatch: boolean
    records: (Omit<KafkaRecord, 'offset' | 'timestampMs'> & { offset: string; timestamp: string })[]
  }
  function decodeRecordBatch(decoder: import('kafkajs/src/protocol/decoder.js')): Promise<RecordBatch>
  namespace decodeRecordBatch {
    export type { RecordBatch }
  }
  export = decodeRecordBatch
}

declare module 'kafkajs/src/protocol/error.js' {
  const protocolErrors: { createErrorFromCode(code: number): Error }
  export = protocolErrors
}

declare module 'kafkajs/src/protocol/requests/produce/v7/request.js' {
  type Record = import('./partition-protocol.ts').AppendedRecord
  function produceRequest(options: {
    acks: number
    timeout: number
    topicData: { topic: string; partitions: { partition: number; messages: readonly Record[] }[] }[]
  }): unknown
  export = produceRequest
}

declare module 'kafkajs/src/protocol/requests/produce/v7/response.js' {
  const produceResponse: {
    decode(
      payload: Buffer,
    ): Promise<{ topics: { partitions: { partition: number; errorCode: number; baseOffset: string }[] }[] }>
  }
  export = produceResponse
}
