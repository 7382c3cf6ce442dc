/** Sets items aside in the log of a test server, as the poller does with those that it cannot read. */
import type { RejectedItem } from '../../../src/log/events.ts'
import type { ApiServer } from './api-server.ts'

/** Sets these items aside, each in a commit of its own, so that the last one is the newest. */
export async function reject(api: ApiServer, ...items: RejectedItem[]): Promise<void> {
  const signal = new AbortController().signal
  const term = await api.log.campaign(signal)
  const writer = await api.log.claim(term, signal)
  for (const one of items) await writer.commit({ events: [], rejected: [one] })
  await writer.release()
  await term.end()
}
