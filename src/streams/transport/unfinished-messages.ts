/**
 * Counts what a WebSocket client has sent of a message that is not complete: the library holds it until its end comes, up
 * to the largest message of each connection.
 */
import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import type { Received } from '../../http/bounds/receive-buffers.ts'
import { StreamRefusal } from './refusal.ts'

/** Bytes of the header of a masked frame with a payload of at most 125, of at most 65,535, and of more bytes. */
const HEADERS = [6, 8, 14] as const

/** Calls `refuse` when the client may not send more now. Returns the function that ends the count, callable twice. */
export function countUnfinished(
  { socket, webSocket }: { socket: Duplex; webSocket: WebSocket },
  received: Received,
  refuse: (refusal: StreamRefusal) => void,
): () => void {
  let bytes = 0
  let lastChunk = 0
  const onChunk = (chunk: Buffer): void => {
    lastChunk = chunk.length
    bytes += lastChunk
    const noRoom = received.grow(bytes)
    if (noRoom === null) return
    end()
    const whose = noRoom === 'full' ? 'all clients' : 'this token'
    refuse(new StreamRefusal(406, `unfinished messages of ${whose} take all the memory that they may`, 4100))
  }
  /** What is left began in the last chunk. Frames that a message came in have more headers than are taken off here. */
  const onFrame = (payload: number): void => {
    const header = HEADERS[payload < 126 ? 0 : payload < 65_536 ? 1 : 2]
    bytes = Math.max(0, Math.min(bytes - payload - header, lastChunk))
    received.grow(bytes)
  }
  // With the library's default a message is one buffer.
  const onMessage = (data: RawData): void => onFrame((data as Buffer).length)
  const onControl = (data: Buffer): void => onFrame(data.length)
  const end = (): void => {
    socket.off('data', onChunk)
    webSocket.off('message', onMessage).off('ping', onControl).off('pong', onControl)
    received.end()
  }
  // Before the library, which emits the messages of a chunk while it reads it.
  socket.prependListener('data', onChunk)
  webSocket.on('message', onMessage).on('ping', onControl).on('pong', onControl)
  return end
}
