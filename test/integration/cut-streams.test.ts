import fc from 'fast-check'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import type { Filter } from '../../src/core/filter/filter.ts'
import { readSse } from '../support/http/api-client.ts'
import { type ApiServer, startApi, until } from '../support/http/api-server.ts'
import { type CuttingProxy, startCuttingProxy } from '../support/streams/cutting-proxy.ts'

/** What one connection of a reader has received so far. */
interface Life {
  sequences: number[]
  /** The last resume point of a complete frame. */
  cursor: string
  live: boolean
  over: boolean
  leave(): void
}

type Connect = (api: ApiServer, proxy: CuttingProxy, cursor: string, filter: Filter) => Life

interface Event {
  sequence: string
  cursor: string
}

const sse: Connect = (api, proxy, cursor, filter) => {
  const leave = new AbortController()
  const life: Life = { sequences: [], cursor, live: false, over: false, leave: () => leave.abort() }
  const query = `filter=${encodeURIComponent(JSON.stringify(filter))}`
  readSse(
    `${proxy.url}/v1/events?${query}`,
    ({ event, id, data }) => {
      if (event === 'disclosure') life.sequences.push(Number((JSON.parse(data) as Event).sequence))
      life.live ||= event === 'live'
      life.cursor = id
    },
    leave.signal,
    { ...api.auth, 'Last-Event-ID': cursor },
  )
    .catch(() => {})
    .finally(() => {
      life.over = true
    })
  return life
}

const webSocket: Connect = (api, proxy, cursor, filter) => {
  const socket = new WebSocket(`${proxy.url.replace('http', 'ws')}/v1/stream`, { headers: api.auth })
  const life: Life = { sequences: [], cursor, live: false, over: false, leave: () => socket.terminate() }
  socket.on('error', () => {})
  socket.on('close', () => {
    life.over = true
  })
  socket.on('open', () =>
    socket.send(JSON.stringify({ action: 'subscribe', filter, from: { after: cursor } })),
  )
  socket.on('message', (text) => {
    const message = JSON.parse(String(text)) as { type: string; cursor?: string; event?: Event }
    if (message.event !== undefined) life.sequences.push(Number(message.event.sequence))
    life.live ||= message.type === 'live'
    life.cursor = message.event?.cursor ?? message.cursor ?? life.cursor
  })
  return life
}

/** Filters over the events of the store, each with an equivalent predicate. */
const filters: [Filter, (sequence: number) => boolean][] = [
  [{}, () => true],
  [{ fcaCategories: ['FR'] }, (sequence) => sequence % 10 === 0],
  [{ exclude: { fcaCategories: ['FR'] } }, (sequence) => sequence % 10 !== 0],
  [{ q: 'item 1' }, (sequence) => String(sequence).startsWith('1')],
  [
    { filters: [{ q: 'm 2' }, { fcaCategories: ['FR'] }] },
    (sequence) => String(sequence).startsWith('2') || sequence % 10 === 0,
  ],
  [{ importance: ['low'] }, () => false],
]

const lives = fc.array(
  fc.record({
    /** Events committed before the reader connects, and while it is connected. */
    before: fc.integer({ min: 0, max: 60 }),
    during: fc.integer({ min: 0, max: 60 }),
    cutAfter: fc.integer({ min: 0, max: 50_000 }),
  }),
  { minLength: 1, maxLength: 4 },
)

test.each([
  ['SSE', sse],
  ['WebSocket', webSocket],
])(
  'a %s reader that is cut anywhere and resumes with its cursor gets every matching event, in order, once',
  async (_name, connect) => {
    await using api = await startApi({ count: 20 })
    await using proxy = await startCuttingProxy(api.listener.port)
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...filters), lives, async ([filter, wanted], planned) => {
        const { reader } = api.store
        const begin = reader.latest
        const seen: number[] = []
        const expected = (): number[] =>
          Array.from({ length: reader.latest - begin }, (_, index) => begin + 1 + index).filter(wanted)
        let cursor = reader.cursorAt(begin)
        for (const { before, during, cutAfter } of [
          ...planned,
          { before: 5, during: 15, cutAfter: Number.POSITIVE_INFINITY },
        ]) {
          api.store.grow(before)
          proxy.cutAfter(cutAfter)
          const life = connect(api, proxy, cursor, filter)
          await until(() => life.live || life.over)
          api.store.grow(during)
          await until(() => life.over || seen.length + life.sequences.length >= expected().length)
          life.leave()
          await until(() => life.over)
          seen.push(...life.sequences)
          cursor = life.cursor
        }
        expect(seen).toEqual(expected())
      }),
      { numRuns: 20 },
    )
  },
)
