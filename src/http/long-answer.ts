/**
 * Sends an answer without end. Once its head is written, node:http takes the answer as complete and frees request, headers
 * and answer; the body goes straight to the connection, in chunks that are framed here (RFC 9112 §7.1). An idle stream holds
 * 15 KB instead of 20 (ADR 0007).
 */
import { once } from 'node:events'
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

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
 * Writes the head with status 200. Resolves, when request and answer are let go, with the way to the client, which may be
 * gone by then; with the answer itself where its end has to be the end of the connection (HTTP/1.0, `Connection: close`)
 * or other requests wait.
 */
export async function beginLongAnswer(
  response: ServerResponse,
  headers: OutgoingHttpHeaders,
): Promise<LongAnswer | ServerResponse> {
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
  return new LongAnswer(socket)
}

/** The way to one client. */
export class LongAnswer {
  readonly #socket: Socket

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Bytes that the kernel has not taken. */
  get writableLength(): number {
    return this.#socket.writableLength
  }

  /** The connection is gone. */
  get destroyed(): boolean {
    return this.#socket.destroyed
  }

  /** Sends the bytes, at least one, as a chunk. False where the kernel has not taken enough. */
  write(bytes: Buffer, onTaken: (error?: Error | null) => void): boolean {
    const socket = this.#socket
    socket.cork()
    socket.write(`${bytes.length.toString(16)}\r\n`, 'latin1')
    socket.write(bytes)
    const hasRoom = socket.write(CHUNK_END, onTaken)
    socket.uncork()
    return hasRoom
  }

  /** Sends the last chunk and ends the connection, also where the client keeps its own side open. */
  end(): void {
    this.#socket.end(LAST_CHUNK)
    this.#socket.destroySoon()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** `timeout`: nothing moved for the time set. `close`: the connection is gone. */
  on(event: 'timeout' | 'close', listener: () => void): void {
    this.#socket.on(event, listener)
  }

  off(event: 'timeout' | 'close', listener: () => void): void {
    this.#socket.off(event, listener)
  }

  /** 0: no time-out. */
  setTimeout(stallMs: number): void {
    this.#socket.setTimeout(stallMs)
  }
}
