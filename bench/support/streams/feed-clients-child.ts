/**
 * Runs thousands of clients of `npm run bench -- feed` in one process and records when each event was complete. A
 * frame is parsed only enough to recognise an event, so that the clients cost less than what is measured. Commands
 * arrive over the parent's channel, one reply each.
 */
import { connect, type Socket } from 'node:net'
import { seededChance } from '../../../src/core/chance.ts'
import { quantile } from '../../figures.ts'
import { syntheticIsin } from '../synthetic-events.ts'
import {
  type ClientsAnswer,
  type ClientsWanted,
  type ClientsWord,
  type CommitTime,
  TOKEN,
} from './feed-words.ts'

const ISSUERS = 2000
/** Bytes of a message that contain its type; with a filter, also its sequence. */
const TYPE_BYTES = 12
const SEQUENCE_BYTES = 600
/** Read at a time, by all connections: what came is looked at before the next read. */
const READ_BYTES = 128 * 1024
const TRICKLE_BYTES = 1024
/** Connections that are being opened at a time. */
const OPENING = 200
const MOST_NOTED = 6_000_000

/** Of each event that came: its sequence or place, and when. */
const places = new Uint32Array(MOST_NOTED)
const times = new Float64Array(MOST_NOTED)
let noted = 0
let live = 0
const peers = new Set<Peer>()
const chance = seededChance(7)
const shared = Buffer.allocUnsafe(READ_BYTES)
const NOTHING = Buffer.alloc(0)

class Peer {
  readonly socket: Socket
  readonly #wanted: ClientsWanted
  readonly #onLive: () => void
  #head: Buffer | null = NOTHING
  /** Part of a frame whose header or first bytes are incomplete. */
  #part: Buffer = NOTHING
  /** Bytes of the message under way that are still to come. */
  #left = 0
  #isEvent = false
  #place = 0
  #came = 0

  /** `onLost`: the connection is gone before anything was live on it. */
  constructor(wanted: ClientsWanted, onLive: () => void, onLost: (error: Error) => void) {
    this.#wanted = wanted
    this.#onLive = onLive
    const { port, reading } = wanted
    const small = reading === 'trickle' ? Buffer.allocUnsafe(TRICKLE_BYTES) : shared
    this.socket = connect({
      port,
      host: '127.0.0.1',
      onread: {
        buffer: small,
        callback: (count: number, buffer: Uint8Array) => {
          this.#take(Buffer.from(buffer.buffer, buffer.byteOffset, count))
          return true
        },
      },
    })
    this.socket.setNoDelay(true)
    let why = 'it was ended by the server'
    this.socket.on('error', ({ message }) => {
      why = message
    })
    this.socket.on('close', () => {
      peers.delete(this)
      if (!this.#isLive) onLost(new Error(`a connection was lost before it was live: ${why}`))
    })
    this.socket.write(handshake(wanted))
    peers.add(this)
  }

  reset(): void {
    this.#came = 0
  }

  #take(bytes: Buffer): void {
    let rest = bytes
    if (this.#head !== null) {
      this.#head = Buffer.concat([this.#head, rest])
      const end = this.#head.indexOf('\r\n\r\n')
      if (end < 0) return
      rest = Buffer.from(this.#head.subarray(end + 4))
      this.#head = null
      this.#begin()
    }
    if (this.#wanted.protocol === 'sse') return this.#takeText(rest)
    this.#takeFrames(rest)
    if (this.#wanted.reading === 'trickle' && this.#isLive) {
      this.socket.pause()
      setTimeout(() => this.socket.resume(), 1000)
    }
  }

  #isLive = false

  #begin(): void {
    const { protocol, identifiers, from } = this.#wanted
    if (protocol === 'ws') {
      const filter = identifiers === 0 ? {} : { filter: { isins: drawn(identifiers) } }
      this.socket.write(clientFrame(0x81, JSON.stringify({ action: 'subscribe', from, ...filter })))
    }
    if (protocol === 'socketio') this.socket.write(clientFrame(0x81, '40'))
    if (protocol === 'plain') this.#goLive()
  }

  #goLive(): void {
    if (this.#isLive) return
    this.#isLive = true
    live += 1
    if (this.#wanted.reading === 'nothing') this.socket.pause()
    this.#onLive()
  }

  #takeText(bytes: Buffer): void {
    if (!this.#isLive && bytes.includes('event: live')) this.#goLive()
  }

  /** All frames of one read get one time. Only incomplete frames are copied. */
  #takeFrames(bytes: Buffer): void {
    const atMs = now()
    const all = this.#part.length === 0 ? bytes : Buffer.concat([this.#part, bytes])
    this.#part = NOTHING
    const told = this.#wanted.identifiers === 0 ? TYPE_BYTES : SEQUENCE_BYTES
    let at = Math.min(this.#left, all.length)
    this.#left -= at
    if (at > 0 && this.#left === 0) this.#whole(atMs)
    while (at < all.length) {
      const start = at + headLength(all, at)
      const length = start > all.length ? 0 : payloadLength(all, at)
      if (start + Math.min(told, length) > all.length) {
        this.#part = Buffer.from(all.subarray(at))
        return
      }
      this.#look(all, at, start, length)
      at = Math.min(start + length, all.length)
      this.#left = start + length - at
      if (this.#left === 0) this.#whole(atMs)
    }
  }

  /** The beginning of a message: its frame begins at `at`, its payload of that length at `start`. */
  #look(bytes: Buffer, at: number, start: number, length: number): void {
    const opcode = (bytes[at] ?? 0) & 15
    this.#isEvent = false
    if (opcode === 9) this.socket.write(clientFrame(0x8a, bytes.subarray(start, start + length)))
    if (opcode !== 1) return
    if (this.#wanted.protocol === 'socketio') {
      if (bytes[start] === 0x32) this.socket.write(clientFrame(0x81, '3'))
      if (bytes[start] === 0x34 && bytes[start + 1] === 0x30) this.#goLive()
      this.#isEvent = bytes[start] === 0x34 && bytes[start + 1] === 0x32
    } else {
      this.#isEvent = bytes[start + 9] === 0x64
      if (bytes[start + 9] === 0x6c) this.#goLive()
    }
    if (this.#isEvent) this.#place = this.#wanted.identifiers === 0 ? this.#came : sequenceIn(bytes, start)
  }

  #whole(atMs: number): void {
    if (!this.#isEvent) return
    this.#came += 1
    if (noted === MOST_NOTED) return
    places[noted] = this.#place
    times[noted] = atMs
    noted += 1
  }
}

function now(): number {
  return performance.timeOrigin + performance.now()
}

function drawn(count: number): string[] {
  return Array.from({ length: count }, () => syntheticIsin(chance.between(0, ISSUERS - 1)))
}

function handshake({ protocol, identifiers }: ClientsWanted): string {
  const filter = identifiers === 0 ? '' : `?isins=${drawn(identifiers).join(',')}`
  const path = {
    ws: '/v1/stream',
    plain: '/',
    socketio: '/socket.io/?EIO=4&transport=websocket',
    sse: `/v1/events${filter}`,
  }[protocol]
  const upgrade =
    protocol === 'sse'
      ? []
      : [
          'Connection: Upgrade',
          'Upgrade: websocket',
          'Sec-WebSocket-Version: 13',
          'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        ]
  return [`GET ${path} HTTP/1.1`, 'Host: bench', `Authorization: Bearer ${TOKEN}`, ...upgrade, '', ''].join(
    '\r\n',
  )
}

/** A frame of a client; its mask is zero, so that nothing has to be turned. */
function clientFrame(first: number, payload: string | Buffer): Buffer {
  const body = Buffer.from(payload)
  const length = body.length < 126 ? [0x80 | body.length] : [0x80 | 126, body.length >> 8, body.length & 255]
  return Buffer.concat([Buffer.from([first, ...length, 0, 0, 0, 0]), body])
}

/** Bytes before the payload of the frame that begins at `at`, as far as its first two bytes have come. */
function headLength(bytes: Buffer, at: number): number {
  const second = bytes[at + 1] ?? 0
  return second === 126 ? 4 : second === 127 ? 10 : 2
}

/** Of a frame whose head has come whole. */
function payloadLength(bytes: Buffer, at: number): number {
  const second = bytes[at + 1] ?? 0
  if (second < 126) return second
  return second === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2))
}

/** Of the event whose message begins at `start`. */
function sequenceIn(bytes: Buffer, start: number): number {
  const at = bytes.indexOf('"sequence":"', start)
  return Number(bytes.subarray(at + 12, at + 32).toString())
}

/** Resolves when all of them are live. */
async function open(wanted: ClientsWanted): Promise<void> {
  for (let opened = 0; opened < wanted.count; opened += OPENING) {
    const count = Math.min(OPENING, wanted.count - opened)
    await Promise.all(
      Array.from(
        { length: count },
        () => new Promise<void>((resolve, reject) => new Peer(wanted, resolve, reject)),
      ),
    )
  }
}

function report(commits: readonly CommitTime[]): ClientsAnswer {
  const byPlace = new Map<number, number>()
  for (const { first, count, atMs } of commits)
    for (let place = first; place < first + count; place++) byPlace.set(place, atMs)
  const delays: number[] = []
  let lastMs = 0
  for (let at = 0; at < noted; at++) {
    const [place = 0, time = 0] = [places[at], times[at]]
    lastMs = Math.max(lastMs, time)
    const committedMs = byPlace.get(place)
    if (committedMs !== undefined) delays.push(Math.max(0, time - committedMs))
  }
  const shares = (share: number): number => (delays.length === 0 ? Number.NaN : quantile(delays, share))
  return { events: noted, live, lastMs, p50: shares(0.5), p99: shares(0.99), worst: shares(1) }
}

async function obey(word: ClientsWord): Promise<ClientsAnswer> {
  switch (word.do) {
    case 'open':
      await open(word)
      break
    case 'reset':
      noted = 0
      for (const peer of peers) peer.reset()
      break
    case 'close':
      for (const { socket } of peers) socket.destroy()
      live = 0
      break
    case 'count':
      break
    case 'report':
      return report(word.commits)
  }
  return { events: noted, live, lastMs: 0, p50: Number.NaN, p99: Number.NaN, worst: Number.NaN }
}

process.on('message', async (word: ClientsWord) => process.send?.(await obey(word)))
process.send?.({ ready: true })
