/** Follows the live stream through the published client, with a ticket for each connection. */
import type { Filter, From } from '../../../../../clients/typescript/src/messages.ts'
import { connect, type Message } from '../../../../../clients/typescript/src/stream.ts'
import { StreamFailure, TicketDelay } from '../../../../../clients/typescript/src/verdict.ts'
import type { ConsoleApi } from '../../shell/api.ts'

/** What to follow. */
export interface FeedStreamOptions {
  api: ConsoleApi
  filter: Filter
  from: From
  onMessage: (message: Message) => void
  /** The stream is over for good. */
  onFailure: (reason: string) => void
}

/** Repeats come after a reconnect only: the last event or a few. */
const REMEMBERED_IDS = 2000

/** Follows until the returned function is called. */
export function followStream({ api, filter, from, onMessage, onFailure }: FeedStreamOptions): () => void {
  const stream = connect({
    url: location.origin,
    ticket: (signal) => takeTicket(api, signal),
    filter,
    from,
    onGap: 'earliest',
    rememberedIds: REMEMBERED_IDS,
  })
  let isOver = false
  const read = async (): Promise<void> => {
    for await (const message of stream) {
      if (isOver) return
      onMessage(message)
    }
  }
  read().catch((error: unknown) => {
    if (!isOver) onFailure(error instanceof Error ? error.message : 'the stream ended')
  })
  return () => {
    isOver = true
    stream.close()
  }
}

/** A ticket. @throws StreamFailure where none will come; TicketDelay, or any Error, where one may come later */
export async function takeTicket(api: ConsoleApi, signal: AbortSignal): Promise<string> {
  const result = await api.ask('POST /v1/tickets', { signal })
  if (result.ok) return result.value.ticket
  const { kind, detail, retryInMs } = result.problem
  if (retryInMs !== null) throw new TicketDelay(detail, retryInMs)
  if (kind === 'signed_out') throw new StreamFailure('unauthenticated', detail)
  if (kind === 'refused') throw new StreamFailure('forbidden', detail)
  throw new Error(detail)
}
