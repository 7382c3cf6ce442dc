import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { BridgeError } from '../../src/errors.ts'
import type { Log } from '../../src/log/log.ts'
import {
  IDEMPOTENCY_KEYS_TABLE,
  IdempotencyKeys,
  KEY_LIFE_MS,
  type KeyedRequest,
  MAX_KEYS_PER_TENANT,
  type OnceSteps,
} from '../../src/registry/idempotency-keys.ts'
import { until } from '../support/http/api-server.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const REQUEST: KeyedRequest = { tenant: 'desk', tokenId: 'tok_1', key: 'k', path: 'POST /x', body: { a: 1 } }

async function node(log: Log, clock = createManualClock()) {
  const keys = new IdempotencyKeys({ log, clock, logger: keepingLogger().logger })
  const stop = new AbortController()
  const running = keys.run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
  })
  await until(() => keys.isLoaded)
  return { keys, clock }
}

/** Steps that make plans 1, 2, 3 and note which were carried out. */
function steps(made: string[], act: OnceSteps<string>['act'] = async () => undefined): OnceSteps<string> {
  let count = 0
  return {
    schema: z.string(),
    prepare: async () => String(++count),
    act: async (plan, state) => {
      await act(plan, state)
      made.push(plan)
    },
  }
}

test('a repeat within a day gets the first plan, on another node too; after a day the key is new', async () => {
  const log = createMemoryLog()
  const { keys, clock } = await node(log)
  const made: string[] = []
  const own = steps(made)
  expect(await keys.once(REQUEST, own)).toEqual({ kind: 'made', plan: '1' })
  expect(await keys.once(REQUEST, own)).toEqual({ kind: 'repeated', plan: '1' })
  const other = await node(log, clock)
  expect(await other.keys.once(REQUEST, own)).toEqual({ kind: 'repeated', plan: '1' })
  clock.advance(KEY_LIFE_MS)
  expect(await keys.once(REQUEST, own)).toEqual({ kind: 'made', plan: '2' })
})

test('a key belongs to its token and tenant, and to one path and body', async () => {
  const { keys } = await node(createMemoryLog())
  const own = steps([])
  await keys.once(REQUEST, own)
  expect(await keys.once({ ...REQUEST, body: { a: 2 } }, own)).toEqual({ kind: 'reused' })
  expect(await keys.once({ ...REQUEST, path: 'POST /y' }, own)).toEqual({ kind: 'reused' })
  for (const change of [{ tenant: 'other' }, { tokenId: 'tok_2' }, { key: 'l' }]) {
    expect((await keys.once({ ...REQUEST, ...change }, own)).kind).toBe('made')
  }
})

test('requests with one key at the same time act once', async () => {
  const { keys } = await node(createMemoryLog())
  const made: string[] = []
  const own = steps(made)
  const kinds = (await Promise.all([1, 2, 3].map(() => keys.once(REQUEST, own)))).map(({ kind }) => kind)
  expect([kinds, made]).toEqual([
    ['made', 'repeated', 'repeated'],
    ['1', '1', '1'],
  ])
})

test('of two nodes that use a key at the same time the first in the log counts, also for later readers', async () => {
  const log = createMemoryLog()
  const nodes = [await node(log), await node(log)]
  const acted: string[] = []
  const slow = nodes[1]?.keys.once(REQUEST, {
    ...steps(acted),
    prepare: async () => {
      await until(() => acted.length > 0)
      return 'late'
    },
  })
  expect(await nodes[0]?.keys.once(REQUEST, steps(acted))).toEqual({ kind: 'made', plan: '1' })
  expect(await slow).toEqual({ kind: 'repeated', plan: '1' })
  const third = await node(log)
  expect(await third.keys.once(REQUEST, steps(acted))).toEqual({ kind: 'repeated', plan: '1' })
})

test('a repeat after a crash between plan and act carries out that plan, and says so', async () => {
  const log = createMemoryLog()
  const { keys } = await node(log)
  const crashed = new BridgeError('log_unavailable', 'down')
  const failing = steps([], () => Promise.reject(crashed))
  await expect(keys.once(REQUEST, failing)).rejects.toBe(crashed)
  const other = await node(log)
  const states: unknown[] = []
  const own = steps([], async (plan, state) => void states.push([plan, state]))
  expect(await other.keys.once(REQUEST, own)).toEqual({ kind: 'repeated', plan: '1' })
  await other.keys.once(REQUEST, own)
  expect(states).toEqual([
    ['1', { isRepeat: true, isDone: false }],
    ['1', { isRepeat: true, isDone: true }],
  ])
})

test('a refused request, or one that makes nothing, leaves the key unused', async () => {
  const { keys } = await node(createMemoryLog())
  const refusal = new Error('no room')
  await expect(
    keys.once(
      REQUEST,
      steps([], () => Promise.reject(refusal)),
    ),
  ).rejects.toBe(refusal)
  expect(await keys.once(REQUEST, { ...steps([]), prepare: async () => null })).toEqual({ kind: 'nothing' })
  expect((await keys.once({ ...REQUEST, body: 'another' }, steps([]))).kind).toBe('made')
})

test('a tenant has a bounded number of keys; those whose day is over are removed from the log', async () => {
  const log = createMemoryLog()
  const table = log.table<unknown>(IDEMPOTENCY_KEYS_TABLE)
  const { clock, keys } = await node(log)
  const row = {
    kind: 'key',
    tenant: 'desk',
    use: 'u',
    request: 'r',
    plan: null,
    isDone: true,
    atMs: clock.now(),
  }
  await Promise.all(Array.from({ length: MAX_KEYS_PER_TENANT }, (_, at) => table.put(String(at), row)))
  await until(async () => (await keys.once(REQUEST, steps([]))).kind === 'full')
  expect((await keys.once({ ...REQUEST, tenant: 'other' }, steps([]))).kind).toBe('made')
  clock.advance(KEY_LIFE_MS)
  await until(async () => (await table.load()).size === 0)
})
