import { expect, test } from 'vitest'
import { EXCHANGES_TABLE, type ExchangeRecord, WALK_KEY } from '../../../src/archive/exchanges.ts'
import { scanReferences } from '../../../src/ingest/exchanges/reference-scan.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { createReferenceUpstream } from './reference-upstream.ts'

const never = new AbortController().signal

/** A log, an upstream of these exchanges, and scans whose waits take no time. */
function world(...mics: string[]) {
  const clock = createManualClock()
  const upstream = createReferenceUpstream(clock, mics)
  const log = createMemoryLog()
  const table = log.table<ExchangeRecord>(EXCHANGES_TABLE)
  const runScan = async (signal: AbortSignal = never) => {
    const parts = {
      client: upstream,
      log,
      permit: { throttle: async () => {} },
      pageSize: 2,
      chance: () => 0.5,
    }
    const walking = scanReferences({ ...parts, clock }, signal)
    let done = false
    void walking.then(() => (done = true))
    for (; !done; await new Promise((resolve) => setImmediate(resolve))) clock.advance(60_000)
    return walking
  }
  const kept = async () =>
    Object.fromEntries(
      [...(await table.load())].map(([key, record]) => [
        key,
        record.kind === 'walk' ? record.completedMs !== null : [record.listed, record.detail],
      ]),
    )
  return { clock, upstream, runScan, kept, table }
}

test('a scan stores the texts of every entry and detail, and a second one writes nothing', async () => {
  const { upstream, runScan, kept } = world('XAMS', 'XLON', 'XNYS', 'XPAR', 'XWAR')
  const first = await runScan()
  expect(first).toMatchObject({ result: 'complete', requests: 8, count: 5, changed: 10, removed: 0 })
  expect(upstream.requests.map(({ target }) => target)).toEqual([
    ...['list ', 'list 2', 'list 4'],
    ...['XAMS', 'XLON', 'XNYS', 'XPAR', 'XWAR'],
  ])
  expect(await kept()).toMatchObject({
    XLON: ['listed XLON', 'detail XLON'],
    XWAR: ['listed XWAR', 'detail XWAR'],
    [WALK_KEY]: true,
  })
  expect(await runScan()).toMatchObject({ result: 'complete', changed: 0, removed: 0 })
})

test('changed texts are written again; exchanges missing from a complete list are deleted', async () => {
  const { upstream, runScan, kept } = world('XAMS', 'XLON', 'XNYS')
  await runScan()
  upstream.held.delete('XAMS')
  upstream.held.set('XLON', { listed: 'listed XLON', detail: 'other' })
  upstream.held.set('XNYS', { listed: 'other', detail: '' })
  upstream.held.set('XPAR', { listed: 'new', detail: 'new' })
  expect(await runScan()).toMatchObject({ result: 'complete', count: 3, changed: 5, removed: 1 })
  expect(upstream.requests.at(-3)?.target).toBe('XPAR')
  expect(await kept()).toEqual({
    XLON: ['listed XLON', 'other'],
    XNYS: ['other', null],
    XPAR: ['new', 'new'],
    [WALK_KEY]: true,
  })
})

test('an incomplete list deletes no exchange, whatever is wrong with the list', async () => {
  const { upstream, runScan, kept } = world('XAMS', 'XLON', 'XNYS')
  await runScan()
  const before = await kept()
  upstream.held.delete('XNYS')
  const wrong: [string, () => void][] = [
    ['the page has no `nextCursor`', () => (upstream.nextCursor = undefined)],
    ['the page cursor repeats', () => (upstream.nextCursor = '1')],
    ['the list is empty', () => upstream.held.clear()],
    ['status 500', () => upstream.failing.set('list', { kind: 'server_error', status: 500 })],
    ['aborted', () => upstream.failing.set('list', { kind: 'network', message: 'aborted' })],
    ['timeout', () => upstream.failing.set('list', { kind: 'timeout', phase: 'body' })],
    [
      'status 400',
      () => upstream.failing.set('list', { kind: 'refused', status: 400, message: '', hint: null }),
    ],
  ]
  for (const [reason, breakIt] of wrong) {
    breakIt()
    expect(await runScan()).toMatchObject({ result: 'failed', reason, changed: 0, removed: 0 })
    expect(await kept()).toEqual(before)
    upstream.nextCursor = 'honest'
  }
})

test('a scan gives up on a list that is endless or too long', async () => {
  const endless = world('XLON')
  let page = 0
  const { exchanges } = endless.upstream
  endless.upstream.exchanges = (query, permit, signal) => {
    page += 1
    endless.upstream.nextCursor = String(page)
    return exchanges(query, permit, signal)
  }
  expect(await endless.runScan()).toMatchObject({ result: 'failed', requests: 200, changed: 0 })
  const long = world()
  long.upstream.exchanges = async () => {
    const timing = { startedMs: 0, endedMs: 0, serverMs: null, sent: true }
    const none = { name: null, country: null, city: null, status: null, comments: null, text: '{}' }
    const exchangesOfPage = Array.from({ length: 10_001 }, (_, index) => ({ ...none, mic: `X${index}` }))
    return { ...timing, kind: 'ok', value: { exchanges: exchangesOfPage, unreadable: 0, nextCursor: null } }
  }
  expect(await long.runScan()).toMatchObject({ result: 'failed', count: 0, changed: 0 })
})

test('a request is tried five times with growing waits, and respects a Retry-After of up to ten minutes', async () => {
  const { upstream, runScan } = world('XLON')
  upstream.failing.set('list', { kind: 'server_error', status: 503 })
  await runScan()
  expect(upstream.requests).toHaveLength(5)
  upstream.failing.set('list', { kind: 'too_many', retryAfter: '999999' })
  await runScan()
  const [first = 0, second = 0] = upstream.requests.slice(5).map(({ atMs }) => atMs)
  expect(second - first).toBe(600_000)
  upstream.failing.set('list', { kind: 'refused', status: 400, message: '', hint: null })
  expect(await runScan()).toMatchObject({ requests: 1 })
})

test('an unreadable detail keeps its stored text and makes the scan partial; three in a row end it', async () => {
  const { upstream, runScan, kept } = world('XAMS', 'XLON', 'XNYS', 'XPAR', 'XWAR')
  upstream.failing.set('XLON', { kind: 'invalid', reason: 'the body is not JSON' })
  expect(await runScan()).toMatchObject({
    result: 'partial',
    reason: 'XLON: the body is not JSON',
    unread: 1,
  })
  expect(await kept()).toMatchObject({
    XLON: ['listed XLON', undefined],
    XWAR: ['listed XWAR', 'detail XWAR'],
  })
  expect(await kept()).toMatchObject({ [WALK_KEY]: false })
  upstream.failing.clear()
  expect(await runScan()).toMatchObject({ result: 'complete', changed: 1 })
  for (const mic of ['XLON', 'XNYS', 'XPAR']) upstream.failing.set(mic, { kind: 'server_error', status: 500 })
  expect(await runScan()).toMatchObject({ result: 'failed', unread: 3 })
  expect(upstream.requests.some(({ target }, index) => target === 'XWAR' && index > 30)).toBe(false)
  expect(await kept()).toMatchObject({ XLON: ['listed XLON', 'detail XLON'] })
})

test('an aborted scan reports it and keeps what it has stored', async () => {
  const { upstream, runScan, kept } = world('XAMS', 'XLON')
  const stop = new AbortController()
  const { exchange } = upstream
  upstream.exchange = (mic, permit, signal) => {
    if (mic === 'XLON') stop.abort()
    return exchange(mic, permit, signal)
  }
  expect(await runScan(stop.signal)).toMatchObject({ result: 'stopped', reason: null })
  expect(await kept()).toMatchObject({ XAMS: ['listed XAMS', 'detail XAMS'], [WALK_KEY]: false })
})

test('a list is stored one row per tick of the event loop, and counts as complete only at its end', async () => {
  const { upstream, runScan, kept } = world('XAMS', 'XLON', 'XNYS', 'XPAR')
  const stop = new AbortController()
  const { exchanges } = upstream
  upstream.exchanges = async (query, permit, signal) => {
    const outcome = await exchanges(query, permit, signal)
    const isLast = outcome.kind === 'ok' && outcome.value.nextCursor === null
    if (isLast) setImmediate(() => stop.abort())
    return outcome
  }
  expect(await runScan(stop.signal)).toMatchObject({ result: 'stopped', count: 4, changed: 1 })
  expect(await kept()).toEqual({ XAMS: ['listed XAMS', undefined] })
  expect(await runScan()).toMatchObject({ result: 'complete', changed: 7 })
  expect(await kept()).toMatchObject({ XPAR: ['listed XPAR', 'detail XPAR'], [WALK_KEY]: true })
  upstream.held.clear()
  upstream.held.set('XLON', { listed: 'listed XLON', detail: 'detail XLON' })
  const again = new AbortController()
  upstream.exchanges = async (query, permit, signal) => {
    setImmediate(() => again.abort())
    return exchanges(query, permit, signal)
  }
  expect(await runScan(again.signal)).toMatchObject({ result: 'stopped', removed: 1 })
  expect(await runScan()).toMatchObject({ result: 'complete', removed: 2 })
})
