/** A stream of the TypeScript client whose messages a test collects in the background. */
import type { Message, Stream } from '../../../clients/typescript/src/stream.ts'
import { StreamFailure } from '../../../clients/typescript/src/verdict.ts'
import { until } from '../http/api-server.ts'

export interface Followed {
  stream: Stream
  messages: Message[]
  types(): string[]
  /** Sequences of the events so far. */
  sequences(): number[]
  /** Resolves when so many messages of this type have come; with the last of them. */
  next<T extends Message['type']>(type: T, count?: number): Promise<Message & { type: T }>
  /** The failure that ended the loop; null where it ended without one. */
  ended: Promise<StreamFailure | null>
}

/** Reads the stream to its end. */
export function followed(stream: Stream): Followed {
  const messages: Message[] = []
  const read = async (): Promise<StreamFailure | null> => {
    try {
      for await (const message of stream) messages.push(message)
      return null
    } catch (error) {
      if (error instanceof StreamFailure) return error
      throw error
    }
  }
  const ended = read()
  return {
    stream,
    messages,
    types: () => messages.map(({ type }) => type),
    sequences: () =>
      messages.flatMap((message) => ('event' in message ? Number(message.event.sequence) : [])),
    async next<T extends Message['type']>(type: T, count = 1) {
      const found = (): Message[] => messages.filter((message) => message.type === type)
      await until(() => found().length >= count || stream.state === 'closed')
      const message = found()[count - 1]
      if (message === undefined) throw new Error(`closed without ${type}: ${JSON.stringify(messages)}`)
      return message as Message & { type: T }
    },
    ended,
  }
}
