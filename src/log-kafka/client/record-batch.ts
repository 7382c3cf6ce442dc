/**
 * Batches of records as brokers keep and send them (form 2 of Kafka's record batch, since 0.11). Owns reading those that
 * are not compressed: kafkajs 2.2.4 reads them too, and takes twice the processor time, which counts where a hundred
 * thousand rows are read before deliveries begin. Refuses to unpack compressed ones, to check sums (TCP and the broker have), and to know
 * what a reader may see of a batch.
 */

/** One record. */
export interface KafkaRecord {
  offset: number
  key: Buffer | null
  /** null: the key was deleted. */
  value: Buffer | null
  /** Several of one name in their order. One without a value is left out. */
  headers: Readonly<Record<string, Buffer | Buffer[]>>
}

/** What was appended at once. `records` are fewer after compaction, none of a compressed one. */
export interface RecordBatch {
  firstOffset: number
  lastOffset: number
  /** Of its latest record; when it was appended, where the topic keeps that; ms since 1970. */
  latestMs: number
  producerId: number
  inTransaction: boolean
  /** The end of a transaction, not records of anybody. */
  isControl: boolean
  isCompressed: boolean
  records: KafkaRecord[]
}

/** Where the fields stand, from the batch's first byte. */
const LENGTH_AT = 8
const AFTER_LENGTH = 12
const ATTRIBUTES_AT = 21
const LAST_DELTA_AT = 23
const LATEST_AT = 35
const PRODUCER_AT = 43
const COUNT_AT = 57
const RECORDS_AT = 61
const CODEC_BITS = 0x7
const TRANSACTION_BIT = 0x10
const CONTROL_BIT = 0x20

/**
 * The batch that begins at `at`, and where the next one does; null where nothing follows, or a part only: a broker cuts
 * the last batch where its answer is full.
 * @throws Error where the bytes are none of a batch
 */
export function readBatch(bytes: Buffer, at: number): { batch: RecordBatch; end: number } | null {
  if (at + AFTER_LENGTH > bytes.length) return null
  const end = at + AFTER_LENGTH + bytes.readInt32BE(at + LENGTH_AT)
  if (end > bytes.length) return null
  if (end < at + RECORDS_AT) throw unreadable()
  const attributes = bytes.readInt16BE(at + ATTRIBUTES_AT)
  const firstOffset = wholeNumber(bytes, at)
  const isCompressed = (attributes & CODEC_BITS) !== 0
  const batch = {
    firstOffset,
    lastOffset: firstOffset + bytes.readInt32BE(at + LAST_DELTA_AT),
    latestMs: wholeNumber(bytes, at + LATEST_AT),
    producerId: wholeNumber(bytes, at + PRODUCER_AT),
    inTransaction: (attributes & TRANSACTION_BIT) !== 0,
    isControl: (attributes & CONTROL_BIT) !== 0,
    isCompressed,
    records: isCompressed ? [] : readRecords(bytes, { at, end, firstOffset }),
  }
  return { batch, end }
}

/** Offsets, times and producers' numbers stay below 2^53. */
function wholeNumber(bytes: Buffer, at: number): number {
  return Number(bytes.readBigInt64BE(at))
}

function readRecords(
  bytes: Buffer,
  { at: start, end, firstOffset }: { at: number; end: number; firstOffset: number },
): KafkaRecord[] {
  let at = start + RECORDS_AT
  /** Seven bits a byte, the lowest first; the last byte's high bit is clear. Even numbers stand for 0, 1, 2 …, odd for −1, −2 …. */
  const readNumber = (): number => {
    let bits = 0
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0
      bits |= (byte & 0x7f) << shift
      if (byte < 0x80) return (bits >>> 1) ^ -(bits & 1)
      if (shift > 28) throw unreadable()
    }
  }
  const skipNumber = (): void => {
    while ((bytes[at++] ?? 0) >= 0x80);
  }
  /** Text and bytes come with their length; −1 stands for null. */
  const readBytes = (): Buffer | null => {
    const length = readNumber()
    if (length < 0) return null
    const from = at
    at += length
    if (at > end) throw unreadable()
    return bytes.subarray(from, at)
  }
  const readText = (): string => {
    const length = readNumber()
    const from = at
    at += length
    if (length < 0 || at > end) throw unreadable()
    return bytes.toString('utf8', from, at)
  }
  const readHeaders = (): KafkaRecord['headers'] => {
    // Without a prototype: names come from whoever may write to the topic.
    const headers: Record<string, Buffer | Buffer[]> = Object.create(null)
    for (let left = readNumber(); left > 0; left--) {
      const name = readText()
      const value = readBytes()
      if (value === null) continue
      const before = headers[name]
      headers[name] = before === undefined ? value : [before, value].flat()
    }
    return headers
  }
  const records: KafkaRecord[] = []
  for (let left = bytes.readInt32BE(start + COUNT_AT); left > 0; left--) {
    const length = readNumber()
    const next = at + length
    if (length < 0 || next > end) throw unreadable()
    at += 1 // attributes, of which there are none
    skipNumber() // how much later than the first
    const offset = firstOffset + readNumber()
    records.push({ offset, key: readBytes(), value: readBytes(), headers: readHeaders() })
    if (at !== next) throw unreadable()
  }
  return records
}

function unreadable(): Error {
  return new Error('the broker has answered a batch of records that cannot be read')
}
