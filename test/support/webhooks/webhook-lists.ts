/** Reads the lists of attempts and deliveries of a running bridge over HTTP, as a user does. */
import { getJson } from '../http/api-client.ts'

/** An attempt as the API shows it. */
export interface Attempt {
  id: string
  eventId: string
  webhookId: string
  attempt: number
  at: string
  status: number | null
  outcome: string
  durationMs: number
  phase: string
  response: string | null
}

/** A delivery as the API shows it. */
export interface Delivery {
  eventId: string
  sequence: number
  state: string
  attempts: number
  nextAttempt: string | null
  lastStatus: number | null
}

/** Every entry of a list, e.g. of `ep_…/attempts?outcome=ok`, by small pages. */
export async function wholeList<T>(base: string, path: string): Promise<T[]> {
  const found: T[] = []
  let next: string | null = ''
  while (next !== null) {
    const after: string = next === '' ? '' : `&after=${next}`
    const page: { data: T[]; next: string | null } = await getJson(
      `${base}/v1/webhooks/${path}${path.includes('?') ? '&' : '?'}limit=7${after}`,
    )
    found.push(...page.data)
    next = page.next
  }
  return found
}
