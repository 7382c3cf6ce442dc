/**
 * Parses the bytes of a stream into complete messages: server-sent events and WebSocket frames of both subprotocols. The
 * bytes may end anywhere.
 */
import type { ApiEvent } from '../http/api-client.ts'

/** The ways to read a stream. */
export const wires = ['sse', 'bridge.v1.json', 'cloudevents.json'] as const
/** One of them. */
export type Wire = (typeof wires)[number]

/** One whole message. */
export type StreamMessage =
  /** An event of the log, or a gap that a node tells of. */
  | { kind: 'event'; event: ApiEvent }
  /** A resume point without an event. */
  | { kind: 'cursor'; cursor: string }
  | { kind: 'error'; detail: string }
  | { kind: 'ping'; payload: Buffer }
  | { kind: 'close'; code: number }

/** Takes the next bytes of one connection and gives what became whole by them. */
export type MessageParser = (bytes: Buffer) => StreamMessage[]

const OPCODE = { text: 1, close: 8, ping: 9 } as const

/** The parser of a new connection, without the HTTP answer. */
export function messageParser(wire: Wire): MessageParser {
  const next = wire === 'sse' ? nextBlock : nextFrame
  let held: Buffer = Buffer.alloc(0)
  return (bytes) => {
    let rest = held.length === 0 ? bytes : Buffer.concat([held, bytes])
    const messages: StreamMessage[] = []
    for (let part = next(rest); part !== null; part = next(rest)) {
      messages.push(...part.messages)
      rest = part.rest
    }
    held = Buffer.from(rest)
    return messages
  }
}

interface Part {
  messages: StreamMessage[]
  rest: Buffer
}

function nextBlock(bytes: Buffer): Part | null {
  const end = bytes.indexOf('\n\n')
  if (end < 0) return null
  const fields = new Map(bytes.toString('utf8', 0, end).split('\n').map(fieldOf))
  const [name, id, data] = ['event', 'id', 'data'].map((field) => fields.get(field))
  const rest = bytes.subarray(end + 2)
  if (name === 'disclosure' || name === 'gap') {
    const event = JSON.parse(data ?? '') as ApiEvent
    if (event.cursor !== id) throw new Error(`the id ${id} is not the cursor of ${event.id}`)
    return { messages: [{ kind: 'event', event }], rest }
  }
  return { messages: id === undefined ? [] : [{ kind: 'cursor', cursor: id }], rest }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1).trimStart()]
}

/** Frames of a server are never masked, and this one never splits a message. */
function nextFrame(bytes: Buffer): Part | null {
  if (bytes.length < 2) return null
  const short = bytes.readUInt8(1)
  const head = short < 126 ? 2 : short === 126 ? 4 : 10
  if (bytes.length < head) return null
  const length = head === 2 ? short : head === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  if (bytes.length < head + length) return null
  const payload = bytes.subarray(head, head + length)
  return { messages: messagesOf(bytes.readUInt8(0) & 0x0f, payload), rest: bytes.subarray(head + length) }
}

function messagesOf(opcode: number, payload: Buffer): StreamMessage[] {
  if (opcode === OPCODE.ping) return [{ kind: 'ping', payload: Buffer.from(payload) }]
  if (opcode === OPCODE.close) return [{ kind: 'close', code: closeCodeOf(payload) }]
  if (opcode !== OPCODE.text) throw new Error(`a frame with opcode ${opcode}`)
  return textMessages(JSON.parse(payload.toString()) as TextMessage)
}

/** 1005 where the frame has none. */
function closeCodeOf(payload: Buffer): number {
  return payload.length === 0 ? 1005 : payload.readUInt16BE(0)
}

/** A message of either subprotocol: members of its own, a bare event, or a control message as one. */
interface TextMessage extends Partial<ApiEvent> {
  type: string
  event?: ApiEvent
  detail?: string
}

function textMessages(message: TextMessage): StreamMessage[] {
  if (message.event !== undefined) return [{ kind: 'event', event: message.event }]
  // Only events have a place in the log.
  if (message.sequence !== undefined) return [{ kind: 'event', event: message as ApiEvent }]
  const { cursor, detail } = message.data ?? message
  if (typeof cursor === 'string') return [{ kind: 'cursor', cursor }]
  const isError = message.type === 'error' || message.type === 'bridge.error.v1'
  return isError ? [{ kind: 'error', detail: String(detail) }] : []
}
