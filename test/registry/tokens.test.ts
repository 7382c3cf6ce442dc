import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { HOUR_MS } from '../../src/core/durations.ts'
import { scopes } from '../../src/http/auth.ts'
import type { Log } from '../../src/log/log.ts'
import type { Table } from '../../src/log/tables.ts'
import { type Row, TOKENS_TABLE } from '../../src/registry/token-rows.ts'
import { MAX_TOKENS_PER_TENANT, type NewToken, Tokens } from '../../src/registry/tokens.ts'
import { until } from '../support/http/api-server.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const reading: NewToken = { tenant: 'desk', scopes: ['events:read'], name: null, expiresAtMs: null }

/** A node that follows that log until the test ends. */
async function node(log: Log, clock = createManualClock()) {
  const { logger, lines } = keepingLogger()
  const tokens = new Tokens({ log, clock, logger })
  const stop = new AbortController()
  const running = tokens.run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
  })
  await until(() => tokens.isLoaded)
  return { tokens, clock, lines, stop }
}

/** A log whose table a test can break. */
function logWith(change: (table: Table<Row>) => Partial<Table<Row>>): { log: Log; table: Table<Row> } {
  const whole = createMemoryLog()
  const table = whole.table<Row>(TOKENS_TABLE)
  const broken = { ...table, ...change(table) }
  return { log: { ...whole, table: <V>() => broken as unknown as Table<V> }, table }
}

async function made(tokens: Awaited<ReturnType<typeof node>>['tokens'], wanted: Partial<NewToken> = {}) {
  const result = await tokens.create({ ...reading, ...wanted })
  if (typeof result === 'string') throw new Error(result)
  return result
}

test('a token is valid for its tenant and scopes as soon as it is made, on every node that follows the log', async () => {
  const log = createMemoryLog()
  const [first, second] = [await node(log), await node(log)]
  const { text, token } = await made(first.tokens, { scopes: ['webhooks:read'], name: 'dashboards' })
  const expected = { tokenId: token.id, tenant: 'desk', scopes: ['webhooks:read'], seesAllTenants: false }
  expect(first.tokens.authenticate(text)).toMatchObject(expected)
  await until(() => second.tokens.authenticate(text) !== 'unknown')
  expect(second.tokens.authenticate(text)).toMatchObject(expected)
  expect(second.tokens.get(token.id)).toMatchObject({ name: 'dashboards', tenant: 'desk' })
})

test('a token has 256 random bits and a recognisable prefix, and only its hash is stored', async () => {
  const log = createMemoryLog()
  const { tokens, lines } = await node(log)
  const all = await Promise.all(Array.from({ length: 20 }, () => made(tokens)))
  expect(new Set(all.map(({ text }) => text)).size).toBe(20)
  for (const { text } of all) expect(text).toMatch(/^bridge_[A-Za-z0-9_-]{43}$/)
  for (const { text } of all) tokens.authenticate(text)
  const kept = JSON.stringify([...(await log.table(TOKENS_TABLE).load())]) + JSON.stringify(lines)
  for (const { text } of all) expect(kept).not.toContain(text.slice('bridge_'.length))
})

test('a deleted token is unknown at once here, soon elsewhere, and its open connections end', async () => {
  const log = createMemoryLog()
  const [first, second] = [await node(log), await node(log)]
  const { text, token } = await made(first.tokens)
  await until(() => second.tokens.get(token.id) !== null)
  const caller = second.tokens.authenticate(text)
  if (typeof caller === 'string') throw new Error(caller)
  await first.tokens.delete(token.id)
  expect(first.tokens.authenticate(text)).toBe('unknown')
  await until(() => caller.ended.aborted)
  expect(second.tokens.authenticate(text)).toBe('unknown')
  expect(second.tokens.list({ tenant: null, after: '', limit: 10 })).toEqual([])
})

test('an expired token is reported as such, ends its open connections at that moment, and stays in the list', async () => {
  const { tokens, clock } = await node(createMemoryLog())
  const later = await made(tokens, { expiresAtMs: clock.now() + 3 * HOUR_MS })
  const soon = await made(tokens, { expiresAtMs: clock.now() + 90_000 })
  const caller = tokens.authenticate(soon.text)
  if (typeof caller === 'string') throw new Error(caller)
  clock.advance(89_999)
  expect([caller.ended.aborted, typeof tokens.authenticate(soon.text)]).toEqual([false, 'object'])
  clock.advance(1)
  expect([caller.ended.aborted, tokens.authenticate(soon.text)]).toEqual([true, 'expired'])
  expect(typeof tokens.authenticate(later.text)).toBe('object')
  expect(tokens.list({ tenant: 'desk', after: '', limit: 10 })).toHaveLength(2)
  clock.advance(3 * HOUR_MS)
  expect(tokens.authenticate(later.text)).toBe('expired')
  expect(clock.nextTimerMs()).toBeNull()
})

test('an expiry is noticed within a minute of a clock change, and is never undone', async () => {
  const { tokens, clock } = await node(createMemoryLog())
  const { text } = await made(tokens, { expiresAtMs: clock.now() + 10 * HOUR_MS })
  const caller = tokens.authenticate(text)
  if (typeof caller === 'string') throw new Error(caller)
  clock.set(clock.now() + 10 * HOUR_MS)
  expect(tokens.authenticate(text)).toBe('expired')
  clock.advance(60_000)
  expect(caller.ended.aborted).toBe(true)
  clock.set(clock.now() - 20 * HOUR_MS)
  expect(tokens.authenticate(text)).toBe('expired')
})

test('a token is unknown only once the tokens are loaded: until then the result is loading', async () => {
  const loaded = Promise.withResolvers<void>()
  const { log } = logWith((table) => ({
    load: async () => {
      await loaded.promise
      return await table.load()
    },
  }))
  const { logger } = keepingLogger()
  const tokens = new Tokens({ log, clock: createManualClock(), logger })
  const stop = new AbortController()
  const running = tokens.run(stop.signal)
  expect([tokens.isLoaded, tokens.authenticate('bridge_x')]).toEqual([false, 'loading'])
  loaded.resolve()
  await until(() => tokens.isLoaded)
  expect(tokens.authenticate('bridge_x')).toBe('unknown')
  stop.abort()
  await running
})

test('the last use is stored by the hour: one write an hour, visible on every node', async () => {
  const written: number[] = []
  const { log } = logWith((table) => ({
    put(key, value) {
      if (value.kind === 'use') written.push(value.hourMs)
      return table.put(key, value)
    },
  }))
  const first = await node(log)
  const second = await node(log, first.clock)
  const { text, token } = await made(first.tokens)
  expect(first.tokens.get(token.id)?.lastUsedMs).toBeNull()
  const hourMs = Math.floor(first.clock.now() / HOUR_MS) * HOUR_MS
  for (let times = 0; times < 100; times += 1) first.tokens.authenticate(text)
  await until(() => second.tokens.get(token.id)?.lastUsedMs === hourMs)
  for (let times = 0; times < 100; times += 1) second.tokens.authenticate(text)
  first.clock.advance(HOUR_MS)
  second.tokens.authenticate(text)
  await until(() => first.tokens.get(token.id)?.lastUsedMs === hourMs + HOUR_MS)
  expect(written).toEqual([hourMs, hourMs + HOUR_MS])
})

test('a late record of a use does not restore a deleted token, and leaves nothing behind', async () => {
  const log = createMemoryLog()
  const first = await node(log)
  const { text, token } = await made(first.tokens)
  first.tokens.authenticate(text)
  await first.tokens.delete(token.id)
  const table = log.table<Row>(TOKENS_TABLE)
  await until(async () => (await table.load()).size === 0)
  await table.put(`use:${token.id}`, { kind: 'use', hourMs: 0 })
  const second = await node(log)
  expect(second.tokens.authenticate(text)).toBe('unknown')
  await until(async () => (await table.load()).size === 0)
})

test('a failed write of a use is retried, and does not affect the client', async () => {
  let isBroken = true
  const { log, table } = logWith((whole) => ({
    put: (key, value) =>
      isBroken && value.kind === 'use' ? Promise.reject(new Error('away')) : whole.put(key, value),
  }))
  const { tokens, clock, lines } = await node(log)
  const { text } = await made(tokens)
  expect(typeof tokens.authenticate(text)).toBe('object')
  await until(() => lines.some(({ event }) => event === 'token.last_use_not_stored'))
  isBroken = false
  clock.advance(60_000)
  await until(async () => (await table.load()).size === 2)
})

test('each tenant has its limit, also for concurrent requests; a deleted token makes room', async () => {
  const { tokens } = await node(createMemoryLog())
  const asked = Array.from({ length: MAX_TOKENS_PER_TENANT + 3 }, () => tokens.create(reading))
  const results = await Promise.all(asked)
  expect(results.filter((result) => result === 'tenant_full')).toHaveLength(3)
  expect(typeof (await tokens.create({ ...reading, tenant: 'other' }))).toBe('object')
  const [token] = tokens.list({ tenant: 'desk', after: '', limit: 1 })
  await tokens.delete(token?.id ?? '')
  expect(typeof (await tokens.create(reading))).toBe('object')
})

test('an invalid row grants nothing and is logged; a scope of a newer version is left out', async () => {
  const log = createMemoryLog()
  const table = log.table<unknown>(TOKENS_TABLE)
  const { text, token } = await made((await node(log)).tokens)
  const row = (await table.load()).get(token.id) as Record<string, unknown>
  for (const [id, wrong] of Object.entries({
    tok_a: null,
    tok_b: 'text',
    tok_c: { ...row, hash: 7 },
    tok_d: { ...row, expiresAtMs: 'never' },
    tok_e: { ...row, kind: 'robot' },
  })) {
    await table.put(id, wrong)
  }
  await table.put(token.id, { ...row, scopes: ['events:read', 'events:rewrite'], script: 'new' })
  const { tokens, lines } = await node(log)
  expect(tokens.list({ tenant: null, after: '', limit: 10 })).toMatchObject([{ scopes: ['events:read'] }])
  expect(tokens.authenticate(text)).toMatchObject({ scopes: ['events:read'] })
  expect(lines.filter(({ event }) => event === 'token.unreadable').length).toBeGreaterThanOrEqual(4)
})

test('after any making, deleting and waiting, a node and a later one agree with the naive list', async () => {
  const step = fc.oneof(
    fc.record({
      tenant: fc.constantFrom('a', 'b'),
      scopes: fc.subarray([...scopes], { minLength: 1 }),
      lifeMs: fc.option(fc.integer({ min: 1, max: 3 * HOUR_MS })),
    }),
    fc.record({ deletes: fc.nat(20) }),
    fc.record({ waitsMs: fc.integer({ min: 1, max: 2 * HOUR_MS }) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const log = createMemoryLog()
      const first = await node(log)
      const { clock, tokens } = first
      let naive: { text: string; id: string; tenant: string; expiresAtMs: number | null }[] = []
      const texts: string[] = []
      for (const action of steps) {
        if ('waitsMs' in action) clock.advance(action.waitsMs)
        else if ('deletes' in action) {
          const gone = naive[action.deletes % Math.max(1, naive.length)]
          if (gone !== undefined) await tokens.delete(gone.id)
          naive = naive.filter((entry) => entry !== gone)
        } else {
          const expiresAtMs = action.lifeMs === null ? null : clock.now() + action.lifeMs
          const { text, token } = await made(tokens, { ...action, expiresAtMs })
          naive.push({ text, id: token.id, tenant: action.tenant, expiresAtMs })
          texts.push(text)
        }
      }
      const later = await node(log, clock)
      for (const { tokens: each } of [first, later]) {
        for (const text of texts) {
          const entry = naive.find((candidate) => candidate.text === text)
          const judged = each.authenticate(text)
          const wanted =
            entry === undefined
              ? 'unknown'
              : entry.expiresAtMs !== null && entry.expiresAtMs <= clock.now()
                ? 'expired'
                : entry.tenant
          expect(typeof judged === 'string' ? judged : judged.tenant).toBe(wanted)
        }
        for (const tenant of ['a', 'b', null]) {
          const ids = naive
            .filter((entry) => tenant === null || entry.tenant === tenant)
            .map(({ id }) => id)
            .sort()
          const pages: string[] = []
          for (;;) {
            const page = each.list({ tenant, after: pages.at(-1) ?? '', limit: 3 })
            pages.push(...page.map(({ id }) => id))
            if (page.length < 3) break
          }
          expect(pages).toEqual(ids)
        }
      }
      first.stop.abort()
      later.stop.abort()
    }),
    { numRuns: 40 },
  )
})
