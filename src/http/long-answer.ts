/**
 * Sends an endless HTTP response, such as server-sent events, so that an idle stream holds 15 KB instead of 20 (ADR
 * 0007). After the head, node:http regards the response as complete and frees request, headers and response. The body
 * is written straight to the socket, in chunks that are framed here (RFC 9112 §7.1).
 */
import { once } from 'node:events'
import type { OutgoingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ServerResponse } from '../lifecycle/node-http.ts'

const use = Symbol('use')
/** `pipelined`: requests came before the answer to another was over. `long`: an answer without end goes out. */
interface Used {
  [use]?: 'pipelined' | 'long'
}

const CHUNK_END = Buffer.from('\r\n')
const LAST_CHUNK = '0\r\n\r\n'

/** Call this for every request that came before the answer to another was over: no long answer begins on its socket. */
export function markPipelined(socket: Duplex & Used): void {
  socket[use] ??= 'pipelined'
}

/** Whether an answer without end goes out on this socket, so that no other request may be answered there. */
export function hasLongAnswer(socket: Duplex & Used): boolean {
  return socket[use] === 'long'
}

/**
 * Writes the head with status 200. Resolves, when request and answer are freed, with the socket of the client, which may have
 * disconnected by then; with the answer itself where its end has to be the end of the connection (HTTP/1.0, `Connection: close`)
 * or other requests wait.
 */
export async function beginLongAnswer(
  response: ServerResponse,
  headers: OutgoingHttpHeaders,
): Promise<Socket | ServerResponse> {
  const socket: (Socket & Used) | null = response.socket
  response.writeHead(200, headers)
  response.flushHeaders()
  const isAlone = socket !== null && socket[use] === undefined && socket.writableLength === 0
  // A client that is gone already: there will be no `close` any more.
  if (response.destroyed || !isAlone || !response.shouldKeepAlive || !response.chunkedEncoding)
    return response
  socket[use] = 'long'
  // Ends the answer without a last chunk.
  response.chunkedEncoding = false
  const closed = once(response, 'close')
  response.end()
  await closed
  // node:http waits for the next request now, and would end the connection where none comes.
  socket.removeAllListeners('timeout')
  socket.setTimeout(0)
  return socket
}

/** Sends the bytes, at least one, as a chunk of a long answer. False where the kernel has not taken enough. */
export function writeChunk(
  socket: Pick<Socket, 'cork' | 'uncork' | 'write'>,
  bytes: Buffer,
  onTaken: (error?: Error | null) => void,
): boolean {
  socket.cork()
  socket.write(`${bytes.length.toString(16)}\r\n`, 'latin1')
  socket.write(bytes)
  const hasRoom = socket.write(CHUNK_END, onTaken)
  socket.uncork()
  return hasRoom
}

/** Ends what `beginLongAnswer` gave. A socket is closed also where the client keeps its own side open. */
export function endLongAnswer(answer: Socket | ServerResponse): void {
  if (answer instanceof ServerResponse) {
    answer.end()
    return
  }
  answer.end(LAST_CHUNK)
  answer.destroySoon()
}
