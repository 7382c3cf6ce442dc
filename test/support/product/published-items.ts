/** Publishes items in a running sandbox over its admin API, each with what an upstream item must have. */
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'

/** Publishes items, dated by the market; members may be anything. Resolves with their guids, which no other item has. */
export type Publish = (items: readonly Record<string, unknown>[]) => Promise<string[]>

/** What publishes in this sandbox. */
export function publisherOf(sandbox: Pick<Sandbox, 'adminUrl' | 'marketNow'>): Publish {
  let published = 0
  return async (items) => {
    const dated = items.map((item) => {
      published += 1
      const timestamp = new Date(sandbox.marketNow()).toISOString()
      const day = timestamp.slice(0, 10).replaceAll('-', '')
      const rnsId = `${published.toString().padStart(4, '0')}T`
      const guid = `urn:newsml:wire.sandbox.example:${day}:${rnsId}:1`
      return { rnsId, guid, version: 1, timestamp, source: 'RNS', publication: [], ...item }
    })
    const response = await fetch(`${sandbox.adminUrl}/items`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ items: dated }),
    })
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    return dated.map(({ guid }) => guid)
  }
}
