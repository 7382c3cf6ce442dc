/** Opens a bridge's event stream once and reads it to its end, for the baselines of `npm run bench -- webhooks`. */
import { createSseParser } from '../../test/support/streams/sse-parser.ts'

/** What came in one piece of the stream. */
export interface StreamPiece {
  /** Disclosures: their id, and the event as its JSON text. */
  events: { id: string; body: string }[]
  /** After the last of them. */
  cursor: string
}

/** Opens it, after that cursor or (null) at its end. */
export async function openEventStream(
  { url, token }: { url: string; token: string },
  after: string | null,
): Promise<AsyncIterable<StreamPiece>> {
  const { body } = await fetch(`${url}/v1/events`, {
    headers: { authorization: `Bearer ${token}`, ...(after !== null && { 'last-event-id': after }) },
  })
  return pieces(body)
}

async function* pieces(body: Response['body']): AsyncGenerator<StreamPiece> {
  const parser = createSseParser()
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const disclosures = parser.feed(piece).filter(({ event }) => event === 'disclosure')
    const events = disclosures.map(({ data }) => ({
      id: (JSON.parse(data) as { id: string }).id,
      body: data,
    }))
    yield { events, cursor: parser.lastId }
  }
}
