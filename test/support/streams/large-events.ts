/** Events as large as real ones get, so that few of them fill a socket. */
import type { Reader, ReadRequest } from '../../../src/archive/reading/reader.ts'
import type { Store } from '../store.ts'

const EVENT_BYTES = 50_000

/** The store's reader with every event of that size; its content is not JSON of an event any more. */
export function largeEvents(store: Store): Reader {
  const { reader } = store
  const json = Buffer.from(JSON.stringify('x'.repeat(EVENT_BYTES)))
  return Object.create(reader, {
    read: {
      value: async (request: ReadRequest) => {
        const read = await reader.read(request)
        return {
          ...read,
          events: read.events.map((event) => ({ ...event, cursor: event.cursor, facts: event.facts, json })),
        }
      },
    },
  }) as Reader
}
