import { expect, onTestFinished, test } from 'vitest'
import { type FundQuery, fundRoutes } from '../../../src/api/mirror/fund-routes.ts'
import { MirrorRefusal } from '../../../src/api/mirror/refusal.ts'
import { createFundGateway } from '../../../src/api/routes/fund-gateway.ts'
import type { RequestHandler } from '../../../src/log/requests.ts'
import { encodeReply } from '../../../src/upstream/leader-reply.ts'
import { raw } from '../../http/raw.ts'
import { knows } from '../../support/http/callers.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { openMount } from '../mirror/mirror-mount.ts'

/** The gateway ignores it. */
const anyQuery: FundQuery = {
  kind: 'navs',
  isins: null,
  pageSize: 50,
  paging: { mode: 'number', pageNumber: 1 },
  warnings: [],
}
const reply = { refusal: null, retryAfterMs: null, validMs: 60_000, status: 200 }

function openGateway() {
  const clock = createManualClock()
  const log = createMemoryLog()
  onTestFinished(() => log.close())
  const source = createFundGateway({ requests: log.requests, clock })
  const asked: string[] = []
  const stop = new AbortController()
  return {
    clock,
    source,
    asked,
    get: async (target: string) => {
      try {
        return { status: 200, body: await source.answer(anyQuery, target) }
      } catch (error) {
        if (!(error instanceof MirrorRefusal)) throw error
        const { status, body, violation, retryAfterSeconds } = error
        return { status, body, violation, retryAfterSeconds }
      }
    },
    serve: (answer: RequestHandler) =>
      void log.requests.serve((question, signal) => {
        asked.push(question)
        return answer(question, signal)
      }, stop.signal),
  }
}

test('equal requests share one upstream request in flight, and need none while its response is valid', async () => {
  const { clock, asked, get, serve } = openGateway()
  const held = Promise.withResolvers<void>()
  serve(async (question) => {
    await held.promise
    return encodeReply({ ...reply, text: `{"data":"${question}"}` })
  })
  const first = [get('/nav?pageSize=5&isins=A'), get('/nav?isins=A&pageSize=5&x=1'), get('/nav/A')]
  held.resolve()
  const answers = await Promise.all(first)
  expect(answers[0]).toEqual({ status: 200, body: '{"data":"/nav?isins=A&pageSize=5"}' })
  expect(answers[1]).toEqual(answers[0])
  expect(asked).toEqual(['/nav?isins=A&pageSize=5', '/nav/A'])
  clock.advance(59_999)
  expect(await get('/nav?isins=A&pageSize=5')).toEqual(answers[0])
  expect(asked).toHaveLength(2)
  clock.advance(1)
  await get('/nav?isins=A&pageSize=5')
  expect(asked).toHaveLength(3)
})

test('without a leader the response is 503 with Retry-After after ten seconds, and the next request tries again', async () => {
  const { clock, get, serve } = openGateway()
  const waiting = get('/nav')
  clock.advance(9_999)
  let isOver = false
  void waiting.then(() => {
    isOver = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(isOver).toBe(false)
  clock.advance(1)
  const late = await waiting
  expect(late).toMatchObject({ status: 503, retryAfterSeconds: 5 })
  expect(JSON.parse(late.body)).toEqual({
    error: { message: expect.stringContaining('within 10 s'), hint: expect.stringContaining('Retry-After') },
  })
  serve(async () => encodeReply({ ...reply, text: '{"data":[]}' }))
  expect(await get('/nav')).toMatchObject({ status: 200 })
})

test('a refusal keeps its status, message and Retry-After; an unreadable reply is 503', async () => {
  const { get, serve } = openGateway()
  serve(async (question) =>
    question === '/nav'
      ? 'of another version'
      : encodeReply({
          ...reply,
          text: '',
          status: 429,
          refusal: { message: 'm', hint: null },
          retryAfterMs: 1_001,
          validMs: 0,
        }),
  )
  expect(await get('/nav/A')).toEqual({
    status: 429,
    body: '{"error":{"message":"m"}}',
    violation: 'unavailable',
    retryAfterSeconds: 2,
  })
  expect(await get('/nav')).toMatchObject({ status: 503, body: expect.stringContaining('another version') })
})

test('the number of waiting requests is limited', async () => {
  const { clock, get } = openGateway()
  const waiting = Array.from({ length: 100 }, (_, index) => get(`/nav/A${index}`))
  expect(await get('/nav/B')).toMatchObject({ status: 503, retryAfterSeconds: 5 })
  clock.advance(10_000)
  await Promise.all(waiting)
})

test('every address that reaches a fund path is understood: with a last slash, a host or a fragment', async () => {
  const { source, asked, serve } = openGateway()
  serve(async () => encodeReply({ ...reply, text: '{"data":[]}' }))
  const { port } = new URL(await openMount(fundRoutes(source), knows({ reading: {} })))
  const paths = ['/nav', '/nav/A', '/buybacks/A/history']
  for (const path of paths) {
    for (const target of [`/v2${path}/`, `/v2${path}/?pageSize=7`, `http://x/v2${path}`, `/v2${path}#a`]) {
      const { status, body } = await raw(
        Number(port),
        `GET ${target} HTTP/1.1\r\nHost: x\r\nx-api-key: reading\r\n\r\n`,
      )
      expect([target, status, body]).toEqual([target, 200, expect.stringContaining('"data"')])
    }
  }
  expect(asked.toSorted()).toEqual([
    '/buybacks/A/history',
    '/buybacks/A/history?pageSize=7',
    '/nav',
    '/nav/A',
    '/nav?pageSize=7',
  ])
})
