import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { type ApiServer, startApi, until } from '../../support/http/api-server.ts'
import { EPOCH, eventAt, REPLICA } from '../../support/store.ts'

interface PageBody {
  data: { sequence: string; cursor: string; type: string; data: Record<string, unknown> }[]
  cursor: string
  more: boolean
}

async function pull(api: ApiServer, query = ''): Promise<PageBody> {
  const response = await fetch(`${api.url}/v1/disclosures${query}`, { headers: api.auth })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  return (await response.json()) as PageBody
}

async function refused(api: ApiServer, query: string) {
  const response = await fetch(`${api.url}/v1/disclosures${query}`, { headers: api.auth })
  const body = (await response.json()) as {
    code: string
    detail: string
    errors?: { field: string; message: string }[]
    oldest?: string
  }
  return { status: response.status, ...body }
}

const sequences = (page: PageBody): number[] => page.data.map(({ sequence }) => Number(sequence))
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

describe('pull', () => {
  test('starts at the earliest event, returns 100 at a time, and continues from its own cursor to the end', async () => {
    await using api = await startApi({ count: 250 })
    const first = await pull(api)
    expect(sequences(first)).toEqual(range(1, 100))
    expect(first.more).toBe(true)
    expect(first.cursor).toBe(first.data.at(-1)?.cursor)
    const second = await pull(api, `?limit=1000&after=${first.cursor}`)
    expect(sequences(second)).toEqual(range(101, 250))
    expect(second.more).toBe(false)
    const third = await pull(api, `?after=${second.cursor}`)
    expect(third).toEqual({ data: [], cursor: second.cursor, more: false })
  })

  test('answers an empty log with a cursor that stays valid', async () => {
    await using api = await startApi()
    const page = await pull(api)
    expect(page.data).toEqual([])
    api.store.grow(2)
    expect(sequences(await pull(api, `?after=${page.cursor}`))).toEqual([1, 2])
  })

  test('advances its cursor if nothing matched', async () => {
    await using api = await startApi({ count: 25 })
    const page = await pull(api, '?fcaCategories=FR')
    expect(sequences(page)).toEqual([10, 20])
    const rest = await pull(api, `?fcaCategories=FR&after=${page.cursor}`)
    expect(rest.data).toEqual([])
    api.store.grow(1)
    expect(sequences(await pull(api, `?after=${rest.cursor}`))).toEqual([26])
  })

  test('takes a watch-list of a thousand ISINs in its address', async () => {
    await using api = await startApi({ count: 5 })
    const isins = range(1, 1000).map((number) => `GB${String(number).padStart(10, '0')}`)
    const page = await pull(api, `?isins=${isins.join(',')}`)
    expect(page).toMatchObject({ data: [], more: false })
  })

  test('returns a cursor ahead of this replica unchanged, and waits for it', async () => {
    await using api = await startApi({ count: 5, replica: REPLICA })
    const cursor = encodeCursor({ epoch: EPOCH, sequence: 8, timeMs: eventAt(8).timeMs })
    expect(await pull(api, `?after=${cursor}`)).toEqual({ data: [], cursor, more: false })
    const waiting = pull(api, `?after=${cursor}&wait=30`)
    await until(() => api.clock.nextTimerMs() !== null)
    api.store.grow(2)
    api.store.grow(2)
    expect(sequences(await waiting)).toEqual([9])
  })

  test('sends a gap to a reader whose cursor turns out to be of another history once the replica has reached it', async () => {
    await using api = await startApi({ count: 5, replica: REPLICA })
    const cursor = encodeCursor({ epoch: EPOCH, sequence: 8, timeMs: eventAt(8).timeMs + 1 })
    const waiting = pull(api, `?after=${cursor}&wait=30`)
    await until(() => api.clock.nextTimerMs() !== null)
    api.store.grow(4)
    const { data } = await waiting
    expect(data[0]).toMatchObject({ type: 'bridge.gap.opened.v1', data: { cause: 'epoch' } })
    expect(data.slice(1).map(({ sequence }) => Number(sequence))).toEqual(range(1, 9))
  })

  test('sends a gap to a reader of a log that a backup has replaced, and reads its last hour again', async () => {
    await using api = await startApi({ count: 5 })
    for (const cursor of [
      encodeCursor({ epoch: EPOCH, sequence: 8, timeMs: eventAt(8).timeMs }),
      encodeCursor({ epoch: EPOCH, sequence: 4, timeMs: eventAt(4).timeMs + 1 }),
    ]) {
      const { data } = await pull(api, `?after=${cursor}&wait=30`)
      expect(data[0]).toMatchObject({ type: 'bridge.gap.opened.v1', data: { cause: 'epoch' } })
      expect(data.slice(1).map(({ sequence }) => Number(sequence))).toEqual(range(1, 5))
    }
  })

  test('sends a reader of another epoch a gap, then starts an hour before its time', async () => {
    await using api = await startApi({ count: 20 })
    const other = encodeCursor({
      epoch: 'Another1',
      sequence: 99,
      timeMs: Date.parse('2026-01-06T08:00:10Z'),
    })
    const notice = { type: 'bridge.gap.opened.v1', source: '/bridge', data: { cause: 'epoch' } }
    const three = await pull(api, `?limit=3&after=${other}`)
    expect(three.data[0]).toMatchObject(notice)
    expect(sequences({ ...three, data: three.data.slice(1) })).toEqual([10, 11])
    expect(three.more).toBe(true)
    expect(sequences(await pull(api, `?limit=2&after=${three.cursor}`))).toEqual([12, 13])

    const alone = await pull(api, `?limit=1&wait=30&after=${other}`)
    expect(alone.data).toMatchObject([notice])
    expect(alone.more).toBe(true)
    expect(sequences(await pull(api, `?limit=2&after=${alone.cursor}`))).toEqual([10, 11])

    const whole = await pull(api, `?wait=30&after=${other}`)
    expect([whole.data.length, whole.more]).toEqual([12, false])
  })

  test('answers 410 with the oldest cursor when the next events are beyond retention', async () => {
    await using api = await startApi({ first: 50, count: 10 })
    const old = encodeCursor({ epoch: EPOCH, sequence: 10, timeMs: 0 })
    const answer = await refused(api, `?after=${old}`)
    expect(answer).toMatchObject({ status: 410, code: 'cursor_too_old' })
    expect(sequences(await pull(api, `?limit=1&after=${answer.oldest}`))).toEqual([50])
    expect(sequences(await pull(api, '?limit=1'))).toEqual([50])
  })

  test.each([
    ['?limit=0', 'limit'],
    ['?limit=1001', 'limit'],
    ['?limit=1e2', 'limit'],
    ['?limit=', 'limit'],
    ['?limit=1&limit=2', 'limit'],
    ['?wait=31', 'wait'],
    ['?wait=-1', 'wait'],
    ['?after=', 'after'],
    ['?curser=x', 'curser'],
    ['?tail=0', 'tail'],
    ['?tail=1001', 'tail'],
    ['?since=yesterday', 'since'],
    ['?until=2026-13', 'until'],
    ['?since=2026&tail=5', 'tail'],
    ['?after=x&since=2026', 'since'],
    ['?tail=3&before=x', 'before'],
    ['?before=x&until=2026', 'until'],
    ['?before=x&wait=3', 'wait'],
    ['?taill=5', 'taill'],
    ['?__proto__=1', '__proto__'],
  ])('refuses %s and names %s', async (query, field) => {
    await using api = await startApi({ count: 1 })
    const answer = await refused(api, query)
    expect(answer).toMatchObject({ status: 400, code: 'parameter_invalid' })
    expect(answer.errors?.map((error) => error.field)).toEqual([field])
  })

  test('names every error at once, with the closest match', async () => {
    await using api = await startApi({ count: 1 })
    const { errors } = await refused(api, '?limit=0&waite=1&isinns=GB00B03MLX29')
    expect(errors?.map(({ field }) => field)).toEqual(['waite', 'isinns', 'limit'])
    expect(errors?.map(({ message }) => message).join()).toMatch(/"wait".*"isins"/)
    for (const [query, named] of [
      ['?waite=1', 'waite is not a parameter of this path – did you mean "wait"?'],
      ['?preset=resultz', 'did you mean "results"? Correct the named fields'],
    ] as const) {
      const { detail } = await refused(api, query)
      expect(detail).toContain(named)
      expect(detail).not.toMatch(/[?.][.?]/)
    }
  })

  test('refuses filters that cannot be parsed', async () => {
    await using api = await startApi({ count: 1 })
    for (const query of [
      '?isins=GB0',
      '?filter=%7B',
      '?q=a',
      '?exclude=x',
      '?importance=lo',
      '?hasSymbol=1',
    ]) {
      expect(await refused(api, query)).toMatchObject({ status: 400, code: 'filter_invalid' })
    }
  })

  test('refuses truncated, changed and foreign cursors', async () => {
    await using api = await startApi({ count: 3 })
    const { cursor } = await pull(api)
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.integer({ min: 1, max: cursor.length - 1 }).map((length) => cursor.slice(0, length)),
          fc.integer({ min: 0, max: cursor.length - 1 }).map((at) => {
            return `${cursor.slice(0, at)}${cursor[at] === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`
          }),
          fc.string({ minLength: 1, maxLength: 60 }).filter((text) => !text.includes('\0')),
        ),
        async (text) => {
          const answer = await refused(api, `?after=${encodeURIComponent(text)}`)
          expect(answer).toMatchObject({ status: 400, code: 'cursor_invalid' })
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('long-poll', () => {
  test('responds as soon as an event matches, and waits while none does', async () => {
    await using api = await startApi({ count: 5 })
    const { cursor } = await pull(api)
    const waiting = pull(api, `?fcaCategories=FR&wait=30&after=${cursor}`)
    await until(() => api.clock.nextTimerMs() !== null)
    api.store.grow(2)
    api.store.grow(3)
    expect(sequences(await waiting)).toEqual([10])
  })

  test('responds empty when the time is up, with an advanced cursor', async () => {
    await using api = await startApi({ count: 5 })
    const { cursor } = await pull(api)
    const waiting = pull(api, `?fcaCategories=FR&wait=3&after=${cursor}`)
    await until(() => api.clock.nextTimerMs() === 3000)
    api.store.grow(2)
    await until(() => api.clock.nextTimerMs() === 3000)
    api.clock.advance(3000)
    const page = await waiting
    expect(page.data).toEqual([])
    api.store.grow(1)
    expect(sequences(await pull(api, `?after=${page.cursor}`))).toEqual([8])
  })

  test('responds at once when this node stops, and leaves nothing behind when its client disconnects', async () => {
    await using api = await startApi({ count: 5 })
    const { cursor } = await pull(api)
    const leave = new AbortController()
    const left = fetch(`${api.url}/v1/disclosures?wait=30&after=${cursor}`, {
      headers: api.auth,
      signal: leave.signal,
    })
    await until(() => api.clock.nextTimerMs() !== null)
    leave.abort()
    await expect(left).rejects.toThrow()
    await until(() => api.clock.nextTimerMs() === null)
    const waiting = pull(api, `?wait=30&after=${cursor}`)
    await until(() => api.clock.nextTimerMs() !== null)
    api.stop()
    expect(await waiting).toEqual({ data: [], cursor, more: false })
  })
})
