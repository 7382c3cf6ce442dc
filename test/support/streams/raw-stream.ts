/** A WebSocket as bytes on a socket, for frames that no well-behaved client would send. */
import { connect } from 'node:net'

/** Bits of the first and second byte of a frame. */
export const FIN = 0x80
export const MASKED = 0x80
export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

export interface RawStream {
  /** The server's unparsed response to the handshake. */
  head: string
  send(...pieces: Buffer[]): void
  /** Sends that many bytes per write, each in a separate tick. */
  sendChopped(bytes: Buffer, size: number): Promise<void>
  /** Pauses and resumes reading. */
  pause(): void
  resume(): void
  /** Cuts the connection. */
  destroy(): void
  /** Sends nothing more. */
  finish(): void
  /** Bytes not yet accepted by the kernel. */
  unsent(): number
  /** Payloads of the complete text frames received. */
  texts: string[]
  /** Payloads of the pings and pongs received. */
  pings: Buffer[]
  pongs: Buffer[]
  /** Of the server's close frame, null before there is one; 1005 for one without a code. */
  closeCode(): number | null
  /** Resolves when the server ends the connection: as `closeCode`. */
  ended: Promise<number | null>
}

const MASK = Buffer.from([1, 2, 3, 4])

/** A masked frame: first byte, payload, and a 64-bit length other than the payload's where it lies. */
export function frame(first: number, payload: Buffer | string = '', claims?: bigint): Buffer {
  const bytes = Buffer.from(payload)
  const length = claims === undefined ? shortestLength(bytes.length) : length64(claims)
  return frameWithLength(first, length, bytes)
}

/** The same with the bytes of its length as they are given, the bit for the mask among them. */
export function frameWithLength(
  first: number,
  length: Buffer,
  payload: Buffer | string,
  mask = MASK,
): Buffer {
  const masked = Buffer.from(Buffer.from(payload).map((byte, index) => byte ^ (mask[index % 4] ?? 0)))
  return Buffer.concat([Buffer.from([first]), length, mask, masked])
}

/** A length in 16 bits. */
export function length16(length: number): Buffer {
  return Buffer.from([MASKED | 126, length >> 8, length & 0xff])
}

/** A length in 64 bits. */
export function length64(length: bigint): Buffer {
  const bytes = Buffer.alloc(9, MASKED | 127)
  bytes.writeBigUInt64BE(length, 1)
  return bytes
}

function shortestLength(length: number): Buffer {
  if (length < 126) return Buffer.from([MASKED | length])
  return length < 65_536 ? length16(length) : length64(BigInt(length))
}

/** Opens a stream, by default with a valid bearer header; resolves after the response 101. */
export async function openRaw(
  api: { listener: { port: number }; auth: { authorization?: string } },
  { authorization = api.auth.authorization ?? '', answersClose = true, headers = '' } = {},
): Promise<RawStream> {
  const socket = connect({ port: api.listener.port, host: '127.0.0.1', noDelay: true })
  socket.on('error', () => {})
  socket.write(
    'GET /v1/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n' +
      `${authorization === '' ? '' : `Authorization: ${authorization}\r\n`}${headers}\r\n`,
  )
  const texts: string[] = []
  const pings: Buffer[] = []
  const pongs: Buffer[] = []
  let head = ''
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
      head = bytes.subarray(0, end).toString('latin1')
      bytes = bytes.subarray(end + 4)
      opened.resolve()
    }
    for (let next = readFrame(bytes); next !== null; next = readFrame(bytes)) {
      bytes = next.rest
      if (next.opcode === OPCODES.text) texts.push(next.payload.toString())
      if (next.opcode === OPCODES.ping) pings.push(next.payload)
      if (next.opcode === OPCODES.pong) pongs.push(next.payload)
      if (next.opcode !== OPCODES.close) continue
      closeCode = next.payload.length === 0 ? 1005 : next.payload.readUInt16BE(0)
      if (answersClose) socket.end()
    }
  })
  const ended = new Promise<number | null>((resolve) => {
    socket.on('end', () => socket.end())
    socket.on('close', () => resolve(closeCode))
  })
  await opened.promise
  return {
    head,
    send: (...pieces) => void socket.write(Buffer.concat(pieces)),
    async sendChopped(whole, size) {
      for (let start = 0; start < whole.length && socket.writable; start += size) {
        socket.write(whole.subarray(start, start + size))
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    destroy: () => void socket.destroy(),
    finish: () => void socket.end(),
    unsent: () => socket.writableLength,
    texts,
    pings,
    pongs,
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
