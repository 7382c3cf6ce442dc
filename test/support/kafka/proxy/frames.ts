/** Splits a byte stream into Kafka's wire frames and reads their common header fields. It does not read the bodies. */

/** The requests that tests name. Numbers: the protocol's table of API keys. */
export const apiKeys = {
  produce: 0,
  fetch: 1,
  metadata: 3,
  findCoordinator: 10,
  joinGroup: 11,
  heartbeat: 12,
  initProducerId: 22,
  addPartitionsToTxn: 24,
  endTxn: 26,
} as const

/** The header fields of every request. */
export interface RequestHeader {
  apiKey: number
  apiVersion: number
  correlationId: number
}

const LENGTH_BYTES = 4
const HEADER_BYTES = 8
/** The largest frame a broker accepts by default (`socket.request.max.bytes`). */
const MAX_FRAME_BYTES = 104_857_600

/**
 * Collects the chunks of one direction of one connection. `push` gives the frames that are whole by now, each with its
 * length in front, so that their concatenation is what came in.
 * @throws Error when what comes cannot be Kafka without encryption, e.g. a TLS handshake
 */
export function createFrameSplitter(): { push(chunk: Buffer): Buffer[] } {
  let rest: Buffer = Buffer.alloc(0)
  return {
    push(chunk) {
      rest = Buffer.concat([rest, chunk])
      const frames: Buffer[] = []
      while (rest.length >= LENGTH_BYTES) {
        const length = rest.readInt32BE(0)
        if (length < 0 || length > MAX_FRAME_BYTES) {
          throw new Error(`A frame of ${length} bytes: this is not Kafka's protocol, or it is encrypted`)
        }
        const end = LENGTH_BYTES + length
        if (rest.length < end) break
        frames.push(rest.subarray(0, end))
        rest = rest.subarray(end)
      }
      return frames
    },
  }
}

/**
 * The header of a request frame.
 * @throws Error when the frame is too short to have one
 */
export function requestHeader(frame: Buffer): RequestHeader {
  if (frame.length < LENGTH_BYTES + HEADER_BYTES) throw new Error(`A request of ${frame.length} bytes`)
  return {
    apiKey: frame.readInt16BE(LENGTH_BYTES),
    apiVersion: frame.readInt16BE(LENGTH_BYTES + 2),
    correlationId: frame.readInt32BE(LENGTH_BYTES + 4),
  }
}

/**
 * The correlation id of a reply frame: that of its request.
 * @throws Error when the frame is too short to have one
 */
export function correlationOf(frame: Buffer): number {
  if (frame.length < LENGTH_BYTES + 4) throw new Error(`A reply of ${frame.length} bytes`)
  return frame.readInt32BE(LENGTH_BYTES)
}

/** True when the frame names the topic, as requests in the classic encoding do: its length, then its name. */
export function namesTopic(frame: Buffer, topic: string): boolean {
  const name = Buffer.from(topic)
  const length = Buffer.alloc(2)
  length.writeInt16BE(name.length)
  return frame.includes(Buffer.concat([length, name]))
}

/** A request frame in the oldest header with a client name. `body` is that of the API's version. */
export function requestFrame(header: RequestHeader, clientId: string, body: Buffer): Buffer {
  const name = Buffer.from(clientId)
  const head = Buffer.alloc(HEADER_BYTES + 2)
  head.writeInt16BE(header.apiKey, 0)
  head.writeInt16BE(header.apiVersion, 2)
  head.writeInt32BE(header.correlationId, 4)
  head.writeInt16BE(name.length, HEADER_BYTES)
  return framed(Buffer.concat([head, name, body]))
}

/** Any payload with its length in front. */
export function framed(payload: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeInt32BE(payload.length)
  return Buffer.concat([length, payload])
}
