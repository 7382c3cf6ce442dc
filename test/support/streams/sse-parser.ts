/**
 * Parses server-sent events from text in pieces of any length, by the WHATWG standard.
 */
import { BridgeError } from '../../../src/errors.ts'

/** One message. */
export interface SseMessage {
  /** `message` where the stream names none. */
  event: string
  /** Lines joined by a line feed. */
  data: string
}

export interface SseParser {
  /** The id of the last whole message or bare `id:` line; empty before the first. */
  readonly lastId: string
  /** What the stream asks a client to wait before it comes back, ms; null where it does not say. */
  readonly retryMs: number | null
  /**
   * The messages that this piece completes.
   * @throws BridgeError `failed` when one line or message grows beyond `MOST_CHARACTERS`
   */
  feed(piece: string): SseMessage[]
}

/** Longest message that is collected: an event has at most half a megabyte. */
const MOST_CHARACTERS = 16 * 1024 * 1024

/** A parser at the beginning of a stream. */
export function createSseParser(): SseParser {
  let text = ''
  /** Characters of `text` that hold no line end. */
  let scanned = 0
  let begun = false
  /** The last piece ended with CR: a line feed that follows belongs to it. */
  let afterReturn = false
  let event = ''
  let data: string[] = []
  let size = 0
  let id = ''
  let lastId = ''
  let retryMs: number | null = null

  const field = (name: string, value: string): void => {
    if (name === 'event') event = value
    else if (name === 'data') {
      data.push(value)
      size += value.length
    } else if (name === 'id' && !value.includes('\0')) id = value
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) retryMs = Number(value)
  }
  const line = (content: string): SseMessage | null => {
    if (content === '') {
      const message = data.length === 0 ? null : { event: event || 'message', data: data.join('\n') }
      lastId = id
      event = ''
      data = []
      size = 0
      return message
    }
    const colon = content.indexOf(':')
    if (colon < 0) field(content, '')
    else if (colon > 0) field(content.slice(0, colon), content.slice(colon + 1).replace(/^ /, ''))
    return null
  }

  return {
    get lastId() {
      return lastId
    },
    get retryMs() {
      return retryMs
    },
    feed(piece) {
      let added = afterReturn && piece.startsWith('\n') ? piece.slice(1) : piece
      if (piece !== '') afterReturn = piece.endsWith('\r')
      if (!begun && added !== '') {
        begun = true
        added = added.replace(/^\ufeff/, '')
      }
      text += added
      const messages: SseMessage[] = []
      const ends = /\r\n|\r|\n/g
      ends.lastIndex = scanned
      let start = 0
      for (let end = ends.exec(text); end !== null; end = ends.exec(text)) {
        const message = line(text.slice(start, end.index))
        if (message !== null) messages.push(message)
        start = ends.lastIndex
      }
      text = text.slice(start)
      scanned = text.length
      if (text.length + size > MOST_CHARACTERS) {
        throw new BridgeError(
          'failed',
          `the stream sends a message of more than ${MOST_CHARACTERS} characters`,
          {
            hint: 'What answers there is no bridge; check the address.',
          },
        )
      }
      return messages
    },
  }
}
