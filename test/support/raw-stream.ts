/** A WebSocket as bytes on a socket, for frames that no well-behaved client would send. */
import { connect } from 'node:net'
import type { ApiServer } from './api-server.ts'

/** Bits of the first and second byte of a frame. */
export const FIN = 0x80
export const MASKED = 0x80
export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

export interface RawStream {
  send(...pieces: Buffer[]): void
  /** Sends nothing more. */
  finish(): void
  /** Payloads of the whole text frames that came. */
  texts: string[]
  closeCode(): number | null
  /** Resolves when the server ends the connection: the code of its close frame, null where there was none. */
  ended: Promise<number | null>
}

/** A masked frame: first byte, payload, and a length other than the payload's where it lies. */
export function frame(first: number, payload: Buffer | string = '', claims?: bigint): Buffer {
  const bytes = Buffer.from(payload)
  const mask = Buffer.from([1, 2, 3, 4])
  const masked = Buffer.from(bytes.map((byte, index) => byte ^ (mask[index % 4] ?? 0)))
  return Buffer.concat([Buffer.from([first]), lengthOf(bytes.length, claims), mask, masked])
}

function lengthOf(length: number, claims: bigint | undefined): Buffer {
  if (claims === undefined && length < 126) return Buffer.from([MASKED | length])
  if (claims === undefined) return Buffer.from([MASKED | 126, length >> 8, length & 0xff])
  const bytes = Buffer.alloc(9, MASKED | 127)
  bytes.writeBigUInt64BE(claims, 1)
  return bytes
}

/** Opens a stream, with the right bearer header unless told otherwise; resolves behind the answer 101. */
export async function openRaw(
  api: ApiServer,
  { authorization = api.auth.authorization, answersClose = true } = {},
): Promise<RawStream> {
  const socket = connect(api.listener.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    'GET /v1/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n' +
      `Authorization: ${authorization}\r\n\r\n`,
  )
  const texts: string[] = []
  let bytes: Buffer = Buffer.alloc(0)
  let closeCode: number | null = null
  const opened = Promise.withResolvers<void>()
  let isOpen = false
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    if (!isOpen) {
      const end = bytes.indexOf('\r\n\r\n')
      if (end < 0) return
      isOpen = true
      bytes = bytes.subarray(end + 4)
      opened.resolve()
    }
    for (let next = readFrame(bytes); next !== null; next = readFrame(bytes)) {
      bytes = next.rest
      if (next.opcode === OPCODES.text) texts.push(next.payload.toString())
      if (next.opcode !== OPCODES.close) continue
      closeCode = next.payload.readUInt16BE(0)
      if (answersClose) socket.end()
    }
  })
  const ended = new Promise<number | null>((resolve) => {
    socket.on('end', () => socket.end())
    socket.on('close', () => resolve(closeCode))
  })
  await opened.promise
  return {
    send: (...pieces) => void socket.write(Buffer.concat(pieces)),
    finish: () => void socket.end(),
    texts,
    closeCode: () => closeCode,
    ended,
  }
}

/** The first whole frame of a server, which is never masked. */
function readFrame(bytes: Buffer): { opcode: number; payload: Buffer; rest: Buffer } | null {
  if (bytes.length < 2) return null
  const short = bytes.readUInt8(1)
  const start = short < 126 ? 2 : short === 126 ? 4 : 10
  if (bytes.length < start) return null
  const length =
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  if (bytes.length < start + length) return null
  const opcode = bytes.readUInt8(0) & 0x0f
  return { opcode, payload: bytes.subarray(start, start + length), rest: bytes.subarray(start + length) }
}
