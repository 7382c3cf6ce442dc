/** Tests the leader's handler of reference requests in virtual time: polls first for a moment, one request at a time. */
import { expect, onTestFinished, test } from 'vitest'
import { createTokenBucket } from '../../../src/governor/quota/token-bucket.ts'
import {
  isReferenceTarget,
  ReferenceRequestHandler,
} from '../../../src/ingest/exchanges/reference-request-handler.ts'
import { type IngestState, initialState } from '../../../src/ingest/machine/state.ts'
import { decodeReply } from '../../../src/upstream/leader-reply.ts'
import { until } from '../../support/http/api-server.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { createReferenceUpstream } from './reference-upstream.ts'

const LIST = '/references/exchanges'

/** A handler beside a poller that is idle for a minute, with an upstream of these exchanges. */
function openHandler(...mics: string[]) {
  const clock = createManualClock()
  const upstream = createReferenceUpstream(clock, mics)
  const { logger, lines } = keepingLogger()
  const plan = { ratePerSecond: 1, burst: 2 }
  const bucket = createTokenBucket(plan)
  const poller: { state: IngestState; leaderSinceMs: number | null } = {
    state: {
      ...initialState(),
      ...{ name: 'polling', lastGoodPollMs: clock.now(), nextPollMs: clock.now() + 60_000 },
    },
    leaderSinceMs: clock.now(),
  }
  const handler = new ReferenceRequestHandler({ client: upstream, poller, bucket, ...plan, clock, logger })
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  /** The reply, and how long it took; time advances in small steps until it is there. */
  const finish = async (answering: Promise<string>, startMs = clock.now()) => {
    let encoded: string | null = null
    void answering.then((text) => (encoded = text))
    await until(() => {
      if (encoded === null) clock.advance(5)
      return encoded !== null
    })
    return { ...decodeReply(encoded ?? ''), tookMs: clock.now() - startMs }
  }
  const start = (target: string, asked = stop.signal) => handler.answer(target, asked, stop.signal)
  const ask = (target: string, asked = stop.signal) => finish(start(target, asked))
  const be = (change: Partial<IngestState>): void => {
    poller.state = { ...poller.state, ...change }
  }
  return { clock, upstream, bucket, poller, be, start, finish, ask, lines }
}

test('the list is read whole and returned sorted, an exchange as upstream sent it, at once while no poll is near', async () => {
  const { ask, upstream, lines } = openHandler('XNYS', 'XLON', 'XAMS')
  const list = await ask(LIST)
  expect(JSON.parse(list.text ?? '')).toEqual(
    ['XAMS', 'XLON', 'XNYS'].map((mic) => ({ mic, text: `listed ${mic}` })),
  )
  expect(list.tookMs).toBeLessThan(200)
  expect(await ask(`${LIST}/XLON`)).toMatchObject({ status: 200, text: 'detail XLON' })
  expect(await ask(`${LIST}/XXXX`)).toMatchObject({ status: 404, refusal: { message: 'none' } })
  expect(upstream.requests.map(({ target }) => target)).toEqual(['list ', 'XLON', 'XXXX'])
  expect(lines.map(({ level, event, fields }) => [level, event, fields.status])).toEqual([
    ...[200, 200, 404].map((status) => ['info', 'exchange_references.read', status]),
  ])
})

test('a request is answered within 1.5 seconds, also while other requests take every token, and uses one itself', async () => {
  const { ask, bucket, clock, be } = openHandler('XLON')
  be({ name: 'filling', lastGoodPollMs: null, nextPollMs: clock.now() })
  // A request on its way, and one that waits for its token.
  for (let taken = 0; taken < 2; taken++) bucket.take(clock.now())
  const before = bucket.msUntilFull(clock.now())
  const { tookMs } = await ask(LIST)
  expect(tookMs).toBeLessThan(1_500)
  expect(bucket.msUntilFull(clock.now())).toBeCloseTo(before + 1_000 / 0.98 - tookMs, 0)
})

test('requests are sent one at a time, and equal ones share one', async () => {
  const { ask, upstream, clock } = openHandler('XAMS', 'XLON', 'XNYS')
  const replies = await Promise.all(
    ['XAMS', 'XLON', 'XLON', 'XNYS', 'XLON'].map((mic) => ask(`${LIST}/${mic}`)),
  )
  expect(replies.map(({ text }) => text)).toEqual(
    ['XAMS', 'XLON', 'XLON', 'XNYS', 'XLON'].map((mic) => `detail ${mic}`),
  )
  expect(upstream.requests.map(({ target }) => target)).toEqual(['XAMS', 'XLON', 'XNYS'])
  const times = upstream.requests.map(({ atMs }) => atMs)
  const gaps = times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0))
  expect(Math.min(...gaps)).toBeGreaterThan(250)
  expect(clock.now() - (times[0] ?? 0)).toBeLessThan(3_500)
})

test('only the leader sends: another process waits, and one that lost the lead meanwhile sends nothing', async () => {
  const { ask, upstream, poller, clock, be } = openHandler('XLON')
  poller.leaderSinceMs = null
  const gone = new AbortController()
  clock.after(500, () => gone.abort())
  expect((await ask(LIST, gone.signal)).tookMs).toBeGreaterThanOrEqual(500)
  poller.leaderSinceMs = clock.now()
  be({ nextPollMs: clock.now() })
  clock.after(100, () => {
    poller.leaderSinceMs = null
  })
  expect(await ask(LIST)).toMatchObject({ status: 503 })
  expect(upstream.requests).toEqual([])
})

test('a pause stops the list that is being read, the requests behind it, and one that waited for a leader', async () => {
  const { ask, start, finish, upstream, poller, clock, be } = openHandler('XLON')
  upstream.nextCursor = '1'
  const list = start(LIST)
  const behind = start(`${LIST}/XLON`)
  const pause = async (): Promise<void> => {
    await until(() => {
      if (upstream.requests.length === 0) clock.advance(5)
      return upstream.requests.length > 0
    })
    be({ pausedSinceMs: clock.now() })
  }
  await pause()
  const paused = { status: 503, refusal: { message: expect.stringContaining('has paused') } }
  expect([await finish(list), await finish(behind)]).toMatchObject([paused, paused])
  poller.leaderSinceMs = null
  const waiting = start(`${LIST}/XLON`)
  clock.advance(100)
  poller.leaderSinceMs = clock.now()
  expect(await finish(waiting)).toMatchObject(paused)
  expect(upstream.requests).toHaveLength(1)
  be({ pausedSinceMs: null })
  expect(await ask(`${LIST}/XLON`)).toMatchObject({ status: 200 })
})

test('a pause stops a request that waits for its token', async () => {
  const { ask, upstream, bucket, clock, be } = openHandler('XLON')
  be({ nextPollMs: clock.now() })
  for (let taken = 0; taken < 2; taken++) bucket.take(clock.now())
  clock.after(600, () => be({ pausedSinceMs: clock.now() }))
  expect(await ask(LIST)).toMatchObject({ status: 503 })
  expect(upstream.requests).toEqual([])
})

test('a process that froze while a request waited detects its lost leadership before it sends', async () => {
  const { start, finish, upstream, poller, clock, be } = openHandler('XLON')
  be({ nextPollMs: clock.now() })
  const answering = start(LIST)
  for (let turn = 0; turn < 10; turn++) {
    clock.advance(10)
    await new Promise((resolve) => setImmediate(resolve))
  }
  clock.set(clock.now() + 10_000)
  clock.after(30, () => {
    poller.leaderSinceMs = null
  })
  expect(await finish(answering)).toMatchObject({ status: 503 })
  expect(upstream.requests).toEqual([])
})

test('a failure is 503 with the words of upstream and Retry-After, and logged as a warning', async () => {
  const { ask, upstream, be, clock, lines } = openHandler('XLON')
  upstream.failing.set('list', { kind: 'server_error', status: 500, message: 'broken', hint: 'wait' })
  expect(await ask(LIST)).toMatchObject({
    ...{ status: 503, retryAfterMs: 5_000 },
    refusal: { hint: expect.stringContaining('status 500: broken – wait') },
  })
  expect(lines[0]).toMatchObject({ level: 'warn', fields: { reason: 'status 500: broken – wait' } })
  be({ upstream: 'throttled', blockedUntilMs: clock.now() + 30_000 })
  const throttled = await ask(LIST)
  expect(throttled.status).toBe(503)
  expect(throttled.retryAfterMs).toBeGreaterThan(29_000)
  expect(upstream.requests).toHaveLength(1)
})

test('a list that is empty, endless or without an end is not read', async () => {
  for (const [mics, nextCursor, hint] of [
    [[], 'honest', 'the list is empty'],
    [['XLON'], '1', 'the list does not end'],
    [['XLON'], undefined, 'the list does not end'],
  ] as const) {
    const { ask, upstream } = openHandler(...mics)
    upstream.nextCursor = nextCursor
    expect(await ask(LIST)).toMatchObject({ status: 503, refusal: { hint: expect.stringContaining(hint) } })
    expect(upstream.requests.length).toBeLessThanOrEqual(50)
  }
})

test('a list that is too long for a reply is not read, and later requests are answered', async () => {
  const { ask, upstream } = openHandler('XLON', 'XNYS', 'XAMS')
  for (const mic of upstream.held.keys()) {
    upstream.held.set(mic, { listed: '"'.repeat(1_500_000), detail: 'detail' })
  }
  const hint = expect.stringContaining('the list has more than 8384512 characters')
  expect(await ask(LIST)).toMatchObject({ status: 503, refusal: { hint } })
  expect(await ask(`${LIST}/XLON`)).toMatchObject({ status: 200, text: 'detail' })
})

test('only the paths of references are reference requests', () => {
  const targets = [LIST, `${LIST}/XLON`, `${LIST}x`, `${LIST}/%zz`, `${LIST}/`, '/nav', '/references', '']
  expect(targets.map(isReferenceTarget)).toEqual([true, true, ...Array(6).fill(false)])
})
