import { describe, expect, test } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { HOUR_MS } from '../../../src/core/durations.ts'
import { type ApiServer, startApi, TOKEN, until } from '../../support/http/api-server.ts'
import { ask } from '../../support/http/ask.ts'
import { EPOCH, eventAt, REPLICA } from '../../support/store.ts'

interface PageBody {
  data: { sequence: string; cursor: string; type: string; data: Record<string, unknown> }[]
  cursor: string
  more: boolean
}

async function pull(api: ApiServer, query: string): Promise<PageBody> {
  const { status, body } = await ask(api, TOKEN, `/v1/disclosures${query}`)
  expect(status).toBe(200)
  return body as PageBody
}

const sequences = ({ data }: PageBody): number[] => data.map(({ sequence }) => Number(sequence))
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
const cursorAt = (sequence: number): string =>
  encodeCursor({ epoch: EPOCH, sequence, timeMs: eventAt(sequence).timeMs })
const timeAt = (sequence: number): string => eventAt(sequence).time

describe('a pull since a time', () => {
  test('starts with the first event of that time, and continues from its cursor', async () => {
    await using api = await startApi({ count: 30 })
    const page = await pull(api, `?since=${timeAt(12)}&limit=3`)
    expect(sequences(page)).toEqual([12, 13, 14])
    expect(page.more).toBe(true)
    expect(sequences(await pull(api, `?after=${page.cursor}&limit=2`))).toEqual([15, 16])
    expect(sequences(await pull(api, '?since=2026-01-06&limit=1'))).toEqual([1])
  })

  test('waits where nothing is as late as that yet', async () => {
    await using api = await startApi({ count: 5 })
    expect(await pull(api, `?since=${timeAt(6)}`)).toEqual({ data: [], cursor: cursorAt(5), more: false })
    const waiting = pull(api, `?since=${timeAt(6)}&wait=30`)
    await until(() => api.clock.nextTimerMs() !== null)
    api.store.grow(1)
    expect(sequences(await waiting)).toEqual([6])
  })
})

describe('a pull until an end', () => {
  test('ends with the last event of that time, a partial one as a whole, and says that there is no more', async () => {
    await using api = await startApi({ count: 90 })
    const page = await pull(api, `?since=${timeAt(10)}&until=${timeAt(20)}&limit=8`)
    expect([sequences(page), page.more]).toEqual([range(10, 17), true])
    const rest = await pull(api, `?after=${page.cursor}&until=${timeAt(20)}`)
    expect([sequences(rest), rest.more]).toEqual([range(18, 20), false])
    expect(sequences(await pull(api, '?until=2026-01-06T07:00'))).toEqual(range(1, 59))
    expect(sequences(await pull(api, `?until=${cursorAt(4)}`))).toEqual(range(1, 4))
    expect(sequences(await pull(api, `?tail=3&until=${cursorAt(50)}`))).toEqual([48, 49, 50])
    expect(sequences(await pull(api, `?fcaCategories=FR&tail=2&until=${timeAt(50)}`))).toEqual([40, 50])
  })

  test('before its start is empty at once, even when it may wait', async () => {
    await using api = await startApi({ count: 20 })
    const page = await pull(api, `?after=${cursorAt(10)}&until=${timeAt(5)}&wait=30`)
    expect(page).toEqual({ data: [], cursor: cursorAt(10), more: false })
  })

  test('that has not come yet waits, and ends at the first later event', async () => {
    await using api = await startApi({ count: 20 })
    const waiting = pull(api, `?after=${cursorAt(20)}&until=${timeAt(21)}&wait=30`)
    await until(() => api.clock.nextTimerMs() !== null)
    api.store.grow(4)
    expect(sequences(await waiting)).toEqual([21])
  })

  test('at a cursor of another epoch is refused', async () => {
    await using api = await startApi({ count: 2 })
    const other = encodeCursor({ epoch: 'Another1', sequence: 1, timeMs: 0 })
    const { status, body } = await ask(api, TOKEN, `/v1/disclosures?until=${other}`)
    expect([status, body.errors[0].field]).toEqual([400, 'until'])
  })
})

describe('a pull of the tail', () => {
  test('starts with the last matching events, oldest first, up to a thousand on one page', async () => {
    await using api = await startApi({ count: 1200 })
    expect(sequences(await pull(api, '?tail=3'))).toEqual([1198, 1199, 1200])
    expect(sequences(await pull(api, '?tail=1000'))).toEqual(range(201, 1200))
    expect(sequences(await pull(api, '?tail=2&fcaCategories=FR'))).toEqual([1190, 1200])
    const page = await pull(api, '?tail=4&limit=2')
    expect([sequences(page), page.more]).toEqual([[1197, 1198], true])
  })
})

describe('a pull backwards', () => {
  test('returns the events before a cursor, the newest first, page by page to the oldest', async () => {
    await using api = await startApi({ count: 25, first: 3 })
    const first = await pull(api, `?before=${cursorAt(27)}&limit=10`)
    expect([sequences(first), first.more]).toEqual([range(17, 26).reverse(), true])
    expect(first.cursor).toBe(first.data.at(-1)?.cursor)
    const second = await pull(api, `?before=${first.cursor}&limit=100`)
    expect([sequences(second), second.more]).toEqual([range(3, 16).reverse(), false])
    expect(await pull(api, `?before=${second.cursor}`)).toEqual({
      data: [],
      cursor: second.cursor,
      more: false,
    })
    expect(sequences(await pull(api, `?after=${first.cursor}&limit=2`))).toEqual([18, 19])
  })

  test('takes a filter, and moves its cursor where nothing matches', async () => {
    await using api = await startApi({ count: 35 })
    const page = await pull(api, `?fcaCategories=FR&before=${cursorAt(30)}`)
    expect([sequences(page), page.more]).toEqual([[20, 10], false])
    expect(page.cursor).toBe(cursorAt(1))
    const none = await pull(api, `?fcaCategories=BOA&before=${cursorAt(30)}`)
    expect(none).toEqual({ data: [], cursor: cursorAt(1), more: false })
  })

  test('from a cursor of another epoch begins with its gap event', async () => {
    await using api = await startApi({ count: 20 })
    const timeMs = Date.parse('2026-01-06T08:00:10Z')
    const page = await pull(api, `?before=${encodeCursor({ epoch: 'Another1', sequence: 99, timeMs })}`)
    expect(page.data[0]).toMatchObject({ type: 'bridge.gap.opened.v1', data: { cause: 'epoch' } })
    expect(sequences({ ...page, data: page.data.slice(1) })).toEqual(range(1, 9).reverse())
  })

  test.each([
    ['in the middle', 10],
    ['at the end', 3],
  ])(
    'counts the gap event of another epoch %s of the log, and loses no event behind it',
    async (_, count) => {
      await using api = await startApi({ count })
      const other = encodeCursor({ epoch: 'Another1', sequence: 99, timeMs: eventAt(5).timeMs + HOUR_MS })
      for (const limit of [1, 2, 5]) {
        const pages: PageBody[] = []
        do {
          const before = pages.at(-1)?.cursor ?? other
          pages.push(await pull(api, `?before=${before}&limit=${limit}`))
        } while (pages.at(-1)?.more === true && pages.length < 20)
        expect(pages.map(({ data }) => data.length).filter((length) => length > limit)).toEqual([])
        const [gap, ...events] = pages.flatMap(({ data }) => data)
        expect(gap).toMatchObject({ type: 'bridge.gap.opened.v1', data: { cause: 'epoch' } })
        expect(events.map(({ sequence }) => Number(sequence))).toEqual(range(1, Math.min(count, 4)).reverse())
      }
    },
  )

  test.each(['log', 'replica'])(
    'goes on behind a page of its gap event alone, whatever has come since: %s',
    async (kind) => {
      await using api = await startApi({ count: 3, ...(kind === 'replica' && { replica: REPLICA }) })
      const other = encodeCursor({ epoch: 'Another1', sequence: 99, timeMs: eventAt(9).timeMs + HOUR_MS })
      const { data, cursor } = await pull(api, `?before=${other}&limit=1`)
      expect(data).toMatchObject([{ type: 'bridge.gap.opened.v1' }])
      expect(sequences(await pull(api, `?before=${cursor}`))).toEqual([3, 2, 1])
      api.store.grow(2)
      expect(sequences(await pull(api, `?before=${cursor}`))).toEqual([3, 2, 1])
    },
  )

  test('from what is no longer kept is refused with 410, and from ahead of this replica with 503', async () => {
    await using api = await startApi({ count: 5, first: 50, replica: REPLICA })
    const old = await ask(api, TOKEN, `/v1/disclosures?before=${cursorAt(20)}`)
    expect([old.status, old.body.code]).toEqual([410, 'cursor_too_old'])
    const ahead = await ask(api, TOKEN, `/v1/disclosures?before=${cursorAt(70)}`)
    expect([ahead.status, ahead.body.code]).toEqual([503, 'unavailable'])
  })
})
