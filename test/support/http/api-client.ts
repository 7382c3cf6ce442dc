/** Clients of the HTTP API as a user would write them: pull to the end, an SSE reader, the status. */
import { ADMIN_TOKEN } from '../bridge-process.ts'

/** One event as the API gives it. */
export interface ApiEvent {
  specversion: string
  id: string
  source: string
  type: string
  time: string
  subject: string
  sequence: string
  epoch: string
  cursor: string
  recordedtime: string
  late?: string
  replacesid?: string
  datacontenttype: string
  data: Record<string, unknown>
}

/** A test's replica is filled long before. */
const FILLING_MS = 30_000

export const bearer = { authorization: `Bearer ${ADMIN_TOKEN}` }

/** GET as JSON. */
export async function getJson<T>(url: string, headers: Record<string, string> = bearer): Promise<T> {
  const response = await fetch(url, { headers })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  return (await response.json()) as T
}

/** Every event of the pull interface, or those after a cursor, page by page. Retries while a node fills its replica. */
export async function pullAll(base: string, query = '', cursor: string | null = null): Promise<ApiEvent[]> {
  const events: ApiEvent[] = []
  let after = cursor === null ? '' : `&after=${cursor}`
  const deadline = Date.now() + FILLING_MS
  for (;;) {
    const response = await fetch(`${base}/v1/disclosures?limit=1000${after}${query}`, { headers: bearer })
    if (response.status === 503 && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      continue
    }
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    const page = (await response.json()) as { data: ApiEvent[]; cursor: string; more: boolean }
    events.push(...page.data)
    if (!page.more) return events
    after = `&after=${page.cursor}`
  }
}

/** One message of an SSE stream. */
export interface SseMessage {
  event: string
  id: string
  data: string
}

/** Reads an SSE stream until the signal aborts or it ends, calling back with each message. */
export async function readSse(
  url: string,
  onMessage: (message: SseMessage) => void,
  signal: AbortSignal,
  headers: Record<string, string> = {},
): Promise<void> {
  try {
    const response = await fetch(url, { headers: { ...bearer, ...headers }, signal })
    if (!response.ok || response.body === null) throw new Error(`${response.status} ${await response.text()}`)
    let text = ''
    let lastId = ''
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const block = text.slice(0, end)
        text = text.slice(end + 2)
        const message = { event: 'message', id: lastId, data: '' }
        for (const line of block.split('\n')) {
          const [name, value] = [
            line.split(':', 1)[0] ?? '',
            line.slice(line.indexOf(':') + 1).replace(/^ /, ''),
          ]
          if (name === 'event') message.event = value
          if (name === 'id') message.id = lastId = value
          if (name === 'data') message.data += value
        }
        if (message.data !== '') onMessage(message)
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Polls until the condition holds. Rejects with the last value after `timeoutMs`. */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  holds: (answer: T) => boolean,
  timeoutMs = 30_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (holds(answer)) return answer
    if (Date.now() > deadline)
      throw new Error(`did not happen in ${timeoutMs} ms; last: ${JSON.stringify(answer)?.slice(0, 2000)}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
