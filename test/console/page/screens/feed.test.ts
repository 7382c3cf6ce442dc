/** The model of the live feed: when it connects, pauses and repaints, and which rows it keeps. */
import { expect, test } from 'vitest'
import type { DisclosureEvent } from '../../../../clients/typescript/src/messages.ts'
import type { Message } from '../../../../clients/typescript/src/stream.ts'
import { cutWords, gapAlert, newsWords } from '../../../../src/console/page/screens/feed/feed-bar.ts'
import { FeedModel, MOST_ROWS, REDRAW_MS } from '../../../../src/console/page/screens/feed/feed-model.ts'
import { delayOf, rowOf } from '../../../../src/console/page/screens/feed/feed-rows.ts'
import { type FeedStreamOptions, takeTicket } from '../../../../src/console/page/screens/feed/feed-stream.ts'
import { droppedWords } from '../../../../src/console/page/screens/feed/feed-table.ts'
import type { ApiProblem, ApiResult, ConsoleApi } from '../../../../src/console/page/shell/api.ts'
import type { Reported } from '../../../../src/console/page/shell/status-watch.ts'
import { createStore } from '../../../../src/console/page/shell/store.ts'
import { createManualClock } from '../../../support/time/manual-clock.ts'

const nothing: Reported = { status: null, atMs: null, problem: null, failingSinceMs: null }
const reportOf = (aheadMs: number): Reported =>
  ({ ...nothing, status: { upstream: { aheadMs } } }) as unknown as Reported

function event(number: number): DisclosureEvent {
  const at = { time: '2026-11-23T07:00:01Z', recordedtime: '2026-11-23T07:00:02Z' }
  const data = { headline: `number ${number}` }
  const place = { id: `e${number}`, sequence: `${number}`, epoch: 'x', cursor: `c${number}` }
  return { specversion: '1.0', type: 'disclosure.published.v1', source: '/', ...place, ...at, data } as never
}

/** A model whose stream, frames and visibility the test moves. */
function feed({ isVisible = true, onNew = (_: unknown): void => {} } = {}) {
  const clock = createManualClock()
  const frames = new Set<() => void>()
  const frame = (callback: () => void) => {
    frames.add(callback)
    return () => frames.delete(callback)
  }
  const visibility = createStore(isVisible)
  const reported = createStore(nothing)
  const streams: (Omit<FeedStreamOptions, 'api'> & { isOpen: boolean })[] = []
  const faults: unknown[] = []
  const model = new FeedModel({
    clock: { ...clock, frame },
    visibility,
    status: { reported, askNow: () => {}, start: () => {}, stop: () => {} },
    filter: {},
    follow(options) {
      const stream = { ...options, isOpen: true }
      streams.push(stream)
      return () => {
        stream.isOpen = false
      }
    },
    aheadMs: () => 0,
    onNew,
    staysWhenHidden: () => false,
    onFault: (fault) => faults.push(fault),
  })
  const draw = (): void => {
    const due = [...frames]
    frames.clear()
    for (const callback of due) callback()
  }
  const send = (...messages: Message[]): void => {
    for (const message of messages) streams.at(-1)?.onMessage(message)
    if (visibility.get()) draw()
  }
  const sendEvents = (first: number, count: number): void => {
    clock.advance(REDRAW_MS)
    send(
      ...Array.from({ length: count }, (_, index): Message => {
        return { type: 'disclosure', event: event(first + index), json: '', sent: null } as unknown as Message
      }),
    )
  }
  return { clock, model, visibility, reported, streams, faults, draw, send, sendEvents, end: model.start() }
}

const live: Message = { type: 'live', cursor: 'c0' } as unknown as Message

test('a feed that is opened in a hidden tab rests, and connects when somebody looks', () => {
  const { model, streams, visibility, draw } = feed({ isVisible: false })
  expect(streams).toHaveLength(0)
  visibility.set(true)
  expect(streams).toHaveLength(1)
  draw()
  expect(model.view.get().connection.state).toBe('connecting')
})

test('a hidden feed disconnects, and goes on after its last event', () => {
  const { streams, visibility, send, sendEvents } = feed()
  send(live)
  sendEvents(1, 3)
  visibility.set(false)
  expect(streams[0]?.isOpen).toBe(false)
  visibility.set(true)
  expect(streams[1]?.from).toEqual({ after: 'c3' })
})

test('a signal that fails is reported, and the feed goes on', () => {
  const failure = new Error('no loudspeaker')
  const { model, faults, send, sendEvents } = feed({
    onNew: () => {
      throw failure
    },
  })
  send(live)
  sendEvents(1, 2)
  expect(faults).toEqual([failure, failure])
  expect(model.view.get().rows).toHaveLength(2)
})

test('many messages make one repaint a frame', () => {
  const { model, send, sendEvents } = feed()
  send(live)
  let repaints = 0
  model.view.follow(() => {
    repaints += 1
  })
  sendEvents(1, 500)
  expect(repaints).toBe(1)
})

test('in a burst rows are redrawn five times a second, and a cut is shown at once', () => {
  const { clock, model, send, sendEvents } = feed()
  send(live)
  const shown = () => model.view.get().rows.length
  sendEvents(1, 20)
  expect(shown()).toBe(20)
  const message = { type: 'disclosure', event: event(21), json: '', sent: null } as unknown as Message
  clock.advance(REDRAW_MS - 1)
  send(message)
  send({ type: 'disconnected', cause: 'closed', why: 'gone', closeCode: 1006, retryInMs: 400 })
  expect([shown(), model.view.get().connection.state]).toEqual([20, 'away'])
  clock.advance(1)
  expect(shown()).toBe(21)
})

test('what a pause or the list does not keep is counted, and said below the oldest row', () => {
  const { model, send, sendEvents } = feed()
  send(live)
  sendEvents(1, 10)
  expect(model.view.get()).toMatchObject({ dropped: 0, arrived: 10 })
  model.pause('key')
  sendEvents(11, 4500)
  expect(model.view.get()).toMatchObject({ waiting: 4500, dropped: 0 })
  expect(model.view.get().rows).toHaveLength(10)
  model.resume()
  const { rows, dropped, arrived } = model.view.get()
  expect(rows.map(({ id }) => id).slice(0, 2)).toEqual(['e4510', 'e4509'])
  expect({ kept: rows.length, dropped, arrived }).toEqual({ kept: MOST_ROWS, dropped: 3510, arrived: 4510 })
  sendEvents(4511, 5)
  expect(model.view.get()).toMatchObject({ dropped: 3515, arrived: 4515 })
  expect(droppedWords(3515)).toBe('3,515 older rows are not here: this page keeps the newest 1,000. ')
})

test('going on shows the rows from their top, but not to a reader who has scrolled away', () => {
  const { model, send, sendEvents } = feed()
  send(live)
  sendEvents(1, 100)
  model.scrolled(false)
  expect(model.view.get().paused?.reason).toBe('scroll')
  model.resume()
  expect(model.view.get()).toMatchObject({ paused: null, resumed: 1 })
  model.scrolled(true)
  model.pause('selection')
  model.scrolled(false)
  model.resume('selection')
  expect(model.view.get()).toMatchObject({ paused: { reason: 'scroll' }, resumed: 1 })
  model.scrolled(true)
  expect(model.view.get()).toMatchObject({ paused: null, resumed: 2 })
})

test('the key goes on from a pause that no repaint has shown yet', () => {
  const { model } = feed()
  model.scrolled(false)
  model.togglePause()
  expect(model.view.get().paused).toBeNull()
  model.togglePause()
  expect(model.view.get().paused?.reason).toBe('key')
})

test('editing the filter ends no pause that the reader has made', () => {
  const { model } = feed()
  model.pause('key')
  model.pause('filter')
  model.resume('filter')
  expect(model.view.get().paused?.reason).toBe('key')
})

test('a cut is shown while the pointer holds the rows', () => {
  const { model, send, sendEvents } = feed()
  send(live)
  sendEvents(1, 5)
  model.hold()
  const lost = { cause: 'closed', why: 'closed with 1006', closeCode: 1006, retryInMs: 400 } as const
  sendEvents(6, 1)
  send({ type: 'disconnected', ...lost })
  expect(model.view.get()).toMatchObject({ waiting: 1, connection: { state: 'away', why: lost.why } })
})

test('rows that came before upstream’s clock was known take it once, and keep it', () => {
  const { clock, model, reported, send, sendEvents, draw } = feed()
  send(live)
  sendEvents(1, 1)
  const delays = () => model.view.get().rows.map((row) => row.kind === 'announcement' && delayOf(row))
  expect(delays()).toEqual([1000])
  for (const [aheadMs, expected] of [
    [500, 1500],
    [9000, 1500],
  ] as const) {
    clock.advance(REDRAW_MS)
    reported.set(reportOf(aheadMs))
    draw()
    expect(delays()).toEqual([expected])
  }
})

test('a clock that is set back holds no rows back', () => {
  const { clock, model, send, sendEvents } = feed()
  send(live)
  sendEvents(1, 5)
  model.hold()
  clock.set(clock.now() - 3_600_000)
  sendEvents(6, 1)
  expect(model.view.get()).toMatchObject({ waiting: 0, connection: { state: 'live' } })
  expect(model.view.get().rows).toHaveLength(6)
})

const lost = { type: 'disconnected', cause: 'closed', why: 'gone', closeCode: 1006, retryInMs: 9000 } as const
const problemOf = (kind: ApiProblem['kind']): ApiProblem => {
  const plain = { status: null, code: null, hint: null, errors: [], retryInMs: null }
  return { kind, detail: `it is ${kind}`, ...plain }
}

test('a bridge that was gone and answers again is connected to at once, one that refused only is not', () => {
  const { streams, reported, send } = feed()
  const report = (kind: ApiProblem['kind'] | null): void =>
    reported.set({ ...nothing, problem: kind === null ? null : problemOf(kind) })
  send(live, lost)
  for (const kind of ['refused', 'failed', null] as const) report(kind)
  expect(streams).toHaveLength(1)
  for (const kind of ['unreachable', 'failed'] as const) report(kind)
  expect(streams).toHaveLength(1)
  report(null)
  expect(streams).toHaveLength(2)
})

test('a paused feed is called cut only where no event can come', () => {
  expect(cutWords({ state: 'live' }, null)).toBe(null)
  expect(cutWords({ state: 'live' }, problemOf('refused'))).toBe(null)
  expect(cutWords({ state: 'live' }, problemOf('unreachable'))).toBe(
    'The connection is cut: It is unreachable.',
  )
  expect(cutWords({ state: 'away', why: 'gone', retryAtMs: null }, null)).toBe('The connection is cut: Gone.')
  expect(cutWords({ state: 'over', why: 'no token' }, null)).toBe('The feed has ended: No token.')
})

test('the end of a feed leaves no timer, frame or stream', () => {
  const { clock, model, streams, end, send, sendEvents } = feed()
  send(live)
  sendEvents(1, 5)
  model.hold()
  sendEvents(6, 1)
  end()
  expect(streams[0]?.isOpen).toBe(false)
  expect(clock.nextTimerMs()).toBe(null)
})

function refusal(status: number, retryInMs: number | null): ApiResult<never> {
  const kind = status === 401 ? 'signed_out' : status < 500 ? 'refused' : 'failed'
  const plain = { code: null, detail: `answer ${status}`, hint: null, errors: [] }
  return { ok: false, problem: { kind, status, retryInMs, ...plain } }
}

test('a refused ticket ends the feed only where waiting cannot help', async () => {
  const caught = async (status: number, retryInMs: number | null): Promise<object> => {
    const api = { ask: async () => refusal(status, retryInMs) } as unknown as ConsoleApi
    return await takeTicket(api, AbortSignal.timeout(1000)).then(
      () => ({}),
      (error: Error) => ({ ...error, message: error.message }),
    )
  }
  expect(await caught(429, 7000)).toMatchObject({
    name: 'TicketDelay',
    message: 'answer 429',
    retryInMs: 7000,
  })
  expect(await caught(503, 5000)).toMatchObject({ name: 'TicketDelay', retryInMs: 5000 })
  expect(await caught(401, null)).toMatchObject({ name: 'StreamFailure', code: 'unauthenticated' })
  expect(await caught(403, null)).toMatchObject({ name: 'StreamFailure', code: 'forbidden' })
  expect(await caught(500, null)).not.toMatchObject({ name: 'StreamFailure' })
})

test('a screen reader is told how many rows came, of all, and of gaps as long as they are open', () => {
  const row = (importance: string) =>
    rowOf({ ...event(1), data: { category: [{ kind: 'FCA', code: 'X', importance }] } }, 0)
  const rows = [row('high'), row('low'), row('ultra'), row('high')]
  expect(newsWords(rows, 3)).toBe('3 new, 1 ultra, 1 high')
  expect(newsWords(rows, 4200)).toBe('4200 new, 1 ultra, 2 high')
  expect([[], [{ id: 'a' }], [{ id: 'a' }, { id: 'b' }]].map(gapAlert)).toEqual([
    '',
    'A gap is open.',
    '2 gaps are open.',
  ])
})
