import { expect, onTestFinished, test } from 'vitest'
import { MirrorRefusal } from '../../../src/api/mirror/refusal.ts'
import { createReferenceCopy } from '../../../src/api/routes/reference-copy.ts'
import { EXCHANGES_TABLE, type ExchangeRecord } from '../../../src/archive/exchanges.ts'
import { DAY_MS } from '../../../src/core/durations.ts'
import { encodeReply, type LeaderReply, refused } from '../../../src/upstream/leader-reply.ts'
import { until } from '../../support/http/api-server.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const LIST = '/references/exchanges'

/** A log with a leader that answers from `held`, and copies of several nodes over it. */
function world() {
  const clock = createManualClock()
  const log = createMemoryLog()
  const { logger, lines } = keepingLogger()
  const stop = new AbortController()
  onTestFinished(async () => {
    stop.abort()
    await log.close()
  })
  const asked: string[] = []
  const held = new Map<string, string>([
    ['XLON', 'detail XLON'],
    ['XNYS', 'detail XNYS'],
  ])
  let broken: LeaderReply | null = null
  const replyTo = (target: string): LeaderReply => {
    if (broken !== null) return broken
    const entries = [...held.keys()].map((mic) => ({ mic, text: `listed ${mic}` }))
    const text = target === LIST ? JSON.stringify(entries) : held.get(target.slice(LIST.length + 1))
    if (text === undefined) return refused(404, 'none', null, null)
    return { status: 200, text, refusal: null, retryAfterMs: null, validMs: 0 }
  }
  const serving = new AbortController()
  void log.requests.serve(async (target) => {
    asked.push(target)
    return encodeReply(replyTo(target))
  }, serving.signal)
  const openNode = () => {
    const copy = createReferenceCopy({ log, clock, logger })
    void copy.run(stop.signal)
    return copy
  }
  return {
    ...{ clock, log, lines, asked, held, openNode },
    table: log.table<ExchangeRecord>(EXCHANGES_TABLE),
    stopServing: () => serving.abort(),
    fail(reply: LeaderReply | null) {
      broken = reply
    },
  }
}

const refusalOf = async (read: () => unknown) => {
  const error: unknown = await Promise.resolve(read()).then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof MirrorRefusal)) throw new Error('it was not refused')
  return { status: error.status, retryAfter: error.retryAfterSeconds, hint: error.hint }
}

test('what was never read is read when it is asked for, once, and then served by every node and after a restart', async () => {
  const { openNode, asked, stopServing, table } = world()
  const node = openNode()
  const entries = ['XLON', 'XNYS'].map((mic) => ({ mic, text: `listed ${mic}` }))
  expect(await node.list()).toEqual(entries)
  expect(await node.detail('XLON')).toBe('detail XLON')
  expect(asked).toEqual([LIST, `${LIST}/XLON`])
  await until(async () => (await table.load()).size === 2)
  const other = openNode()
  // Its replica is loaded within a few turns of the event loop.
  for (let turn = 0; turn < 50; turn++) await new Promise((go) => setImmediate(go))
  stopServing()
  expect([await other.list(), await other.detail('XLON')]).toEqual([entries, 'detail XLON'])
  expect(await node.detail('XLON')).toBe('detail XLON')
  expect(asked).toHaveLength(2)
})

test('a detail is read without the list, and a MIC that the list lacks is no request', async () => {
  const { openNode, asked } = world()
  const node = openNode()
  expect(await node.detail('XNYS')).toBe('detail XNYS')
  expect(await node.detail('XXXX')).toBeNull()
  expect(await node.detail('../nav')).toBeNull()
  expect(asked).toEqual([`${LIST}/XNYS`, `${LIST}/XXXX`])
  await node.list()
  expect(await node.detail('XXXX')).toBeNull()
  expect(asked).toHaveLength(3)
})

test('what is a day old is served at once and read again; a failure keeps it, and is tried again after a minute', async () => {
  const { openNode, asked, held, clock, fail, table } = world()
  const node = openNode()
  await node.list()
  await node.detail('XLON')
  await until(async () => (await table.load()).size === 2)
  held.set('XLON', 'changed')
  expect(await node.detail('XLON')).toBe('detail XLON')
  clock.advance(DAY_MS)
  fail(refused(503, 'not now', null, 5_000))
  for (let turn = 0; turn < 3; turn++) expect(await node.detail('XLON')).toBe('detail XLON')
  await until(() => asked.length === 3)
  fail(null)
  clock.advance(60_000)
  await node.detail('XLON')
  await until(async () => (await node.detail('XLON')) === 'changed')
  expect(asked).toEqual([LIST, ...Array(3).fill(`${LIST}/XLON`)])
})

test('what cannot be read is 503 with Retry-After, also when the leader does not know such requests', async () => {
  const { openNode, fail, clock, stopServing } = world()
  const node = openNode()
  fail(refused(503, 'not now', 'Upstream: status 500.', 5_000))
  expect(await refusalOf(() => node.list())).toEqual({
    status: 503,
    retryAfter: 5,
    hint: 'Upstream: status 500.',
  })
  fail(refused(400, 'this is not a fund request', null, null))
  expect(await refusalOf(() => node.detail('XLON'))).toMatchObject({ status: 503, retryAfter: 5 })
  stopServing()
  const refusal = refusalOf(() => node.list())
  await new Promise((go) => setImmediate(go))
  clock.advance(10_000)
  expect(await refusal).toMatchObject({ status: 503, retryAfter: 5 })
})

test('rows of an older build are served and read again; a list too long to store is served', async () => {
  const { openNode, asked, held, lines, table } = world()
  await table.put('XLON', { kind: 'exchange', listed: 'listed XLON', detail: 'of an older build' })
  await table.put('#walk', { kind: 'walk', completedMs: 5 })
  const node = openNode()
  await until(async () => (await node.detail('XLON')) === 'of an older build')
  await until(() => asked.includes(`${LIST}/XLON`))
  held.set('XBIG', '')
  for (let index = 0; index < 40_000; index++) held.set(`X${index}`, '')
  expect(await node.list()).toHaveLength(40_003)
  expect(lines).toContainEqual(expect.objectContaining({ event: 'exchange_references.not_stored' }))
})
