/** Opens a sandbox with a few items, and a client that records how much of a response arrived. */
import { request } from 'node:http'
import { item, openSandbox, type TestSandbox } from '../sandbox-client.ts'

const LIST = '/disclosures/sources/rns/items'

/** Sandbox with ten items and a cursor before the newest three. */
export async function withItems(): Promise<TestSandbox & { cursor: string }> {
  const opened = await openSandbox({ backlog: 0 })
  const stamped = (index: number) => item(`urn:x:${index}`, `2026-02-03T11:00:0${index}Z`)
  opened.sandbox.publish(Array.from({ length: 7 }, (_, index) => stamped(index)))
  const cursor = String((await opened.list()).body.meta.paging.latestCursor)
  opened.sandbox.publish([7, 8, 9].map(stamped))
  return { ...opened, cursor }
}

/** One response while it arrives. */
export interface Watched {
  /** Text seen so far. */
  text: () => string
  /** Resolves at the first bytes of a body. */
  some: Promise<void>
  /** `complete`, `cut` inside the body, or `no answer`. */
  ended: Promise<string>
  leave: () => void
}

/** Sends a plain GET of the list and reports how much of the response arrived and how it ended. */
export function watch({ sandbox }: TestSandbox): Watched {
  const end = Promise.withResolvers<string>()
  const some = Promise.withResolvers<void>()
  let text = ''
  const outgoing = request(`${sandbox.url}${LIST}`, { headers: { 'x-api-key': sandbox.key } }, (response) => {
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      text += chunk
      some.resolve()
    })
    response.on('end', () => end.resolve('complete'))
    response.on('error', () => end.resolve('cut'))
  })
  outgoing.on('error', () => end.resolve('no answer'))
  outgoing.end()
  return { text: () => text, some: some.promise, ended: end.promise, leave: () => outgoing.destroy() }
}
