import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AuditEntry } from '../../src/audit/audit-rows.ts'
import { type AuditQuery, AuditStore } from '../../src/audit/audit-store.ts'
import { AuditTrail } from '../../src/audit/audit-trail.ts'
import { DAY_MS } from '../../src/core/durations.ts'
import { newId } from '../../src/registry/ids.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { until } from '../support/http/api-server.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const RETENTION_MS = 400 * DAY_MS
const ANY: AuditQuery = {
  ...{ tenant: null, actor: null, action: null, target: null, sinceMs: null, untilMs: null, before: null },
  limit: 100,
}

/** A trail over a journal in memory, in a directory that it is given. */
function trailIn(path: string) {
  const clock = createManualClock()
  const log = createMemoryLog({ clock })
  const { logger, lines } = keepingLogger()
  const journal = log.journal<AuditEntry>('audit', RETENTION_MS)
  const parts = { journal, retentionMs: RETENTION_MS, clock, chance: () => 0.5, logger }
  const start = (mostBytes?: number) => {
    const trail = new AuditTrail({ ...parts, path: join(path, 'audit.db'), ...(mostBytes && { mostBytes }) })
    const stop = new AbortController()
    const running = trail.run(stop.signal)
    return {
      trail,
      async stop() {
        stop.abort()
        await running
        trail.close()
      },
    }
  }
  const entry = (more: Partial<AuditEntry> = {}): AuditEntry => ({
    id: newId('aud', clock.now()),
    atMs: clock.now(),
    action: 'token.created',
    outcome: 'done',
    code: null,
    actor: { tokenId: 'tok_a', name: null, tenant: 'desk', sessionId: null },
    isOperator: false,
    address: '192.0.2.1',
    requestId: null,
    target: 'tok_b',
    tenant: 'desk',
    before: {},
    after: {},
    ...more,
  })
  return { clock, journal, lines, start, entry, [Symbol.asyncDispose]: () => log.close() }
}

test('entries are listed newest first, page by page, by tenant, actor, action, target and time', async () => {
  using directory = temporaryDirectory()
  await using world = trailIn(directory.path)
  const { trail, stop } = world.start()
  const made: AuditEntry[] = []
  for (const more of [
    {},
    { action: 'token.deleted' },
    { actor: { tokenId: 'tok_c', name: 'c', tenant: 'desk', sessionId: 'ses' } },
    { tenant: 'other' },
    { tenant: null, target: 'ep_1' },
  ]) {
    made.push(world.entry(more))
    world.clock.advance(1000)
  }
  await world.journal.append(made)
  await until(() => trail.list(ANY).length === 5)
  const found = (query: Partial<AuditQuery>) =>
    trail.list({ ...ANY, ...query }).map(({ id }) => made.findIndex((one) => one.id === id))
  expect(found({})).toEqual([4, 3, 2, 1, 0])
  expect(found({ limit: 2 })).toEqual([4, 3])
  expect(found({ limit: 2, before: made[3]?.id ?? '' })).toEqual([2, 1])
  expect(found({ tenant: 'desk' })).toEqual([2, 1, 0])
  expect(found({ actor: 'tok_c' })).toEqual([2])
  expect(found({ action: 'token.deleted' })).toEqual([1])
  expect(found({ target: 'ep_1' })).toEqual([4])
  expect(found({ sinceMs: made[1]?.atMs ?? 0, untilMs: made[2]?.atMs ?? 0 })).toEqual([2, 1])
  expect(trail.list({ ...ANY, actor: 'tok_c' })[0]).toEqual(made[2])
  await stop()
})

test('an entry that comes twice, or with its outcome first, is one entry with its outcome', async () => {
  using directory = temporaryDirectory()
  await using world = trailIn(directory.path)
  const { trail, stop } = world.start()
  const begun = world.entry({ outcome: 'unknown', target: null })
  const done = { ...begun, outcome: 'done' as const, target: 'tok_new', after: { name: 'x' } }
  await world.journal.append([done, begun, done])
  await until(() => trail.list(ANY).length > 0)
  expect(trail.list(ANY)).toEqual([done])
  await stop()
})

test('a restart goes on where it was, a damaged file is read again from the journal', async () => {
  using directory = temporaryDirectory()
  await using world = trailIn(directory.path)
  const first = world.start()
  await world.journal.append([world.entry()])
  await until(() => first.trail.list(ANY).length === 1)
  await first.stop()
  await world.journal.append([world.entry(), world.entry()])
  const second = world.start()
  await until(() => second.trail.list(ANY).length === 3)
  await second.stop()
  const path = join(directory.path, 'audit.db')
  truncateSync(path, 8192)
  writeFileSync(path, 'no database at all', { flag: 'r+' })
  const third = world.start()
  await until(() => third.trail.list(ANY).length === 3)
  expect(world.lines.map(({ event }) => event)).toContain('audit.copy_rebuilt')
  await third.stop()
})

test('entries older than the retention are neither listed nor kept, and unreadable ones are passed over', async () => {
  using directory = temporaryDirectory()
  await using world = trailIn(directory.path)
  const { trail, stop } = world.start()
  await world.journal.append([world.entry(), { broken: true } as never])
  await until(() => trail.list(ANY).length === 1)
  expect(world.lines.map(({ event }) => event)).toContain('audit.entries_unreadable')
  world.clock.advance(RETENTION_MS - 1000)
  await world.journal.append([world.entry()])
  await until(() => trail.list(ANY).length === 2)
  world.clock.advance(2000)
  expect(trail.list(ANY)).toHaveLength(1)
  world.clock.advance(3_600_000)
  const kept = new AuditStore({ path: join(directory.path, 'audit.db'), onDamage: () => undefined })
  await until(() => kept.list(ANY).length === 1)
  kept.close()
  await stop()
})

test('the oldest entries go once the file is too large, which the log says', async () => {
  using directory = temporaryDirectory()
  await using world = trailIn(directory.path)
  const mostBytes = 4 * 1024 ** 2
  const { trail, stop } = world.start(mostBytes)
  const made: AuditEntry[] = []
  for (let n = 0; n < 3500; n++) {
    made.push(world.entry({ after: { text: `${n}`.padEnd(1000) } }))
    world.clock.advance(1)
  }
  await world.journal.append(made)
  await until(() => trail.list({ ...ANY, limit: 1 })[0]?.id === made.at(-1)?.id)
  world.clock.advance(3_600_000)
  await until(() => world.lines.some(({ event }) => event === 'audit.trimmed'))
  const left = trail.list({ ...ANY, limit: made.length })
  expect(left).toEqual(made.slice(-left.length).reverse())
  const { fields } = world.lines.find(({ event }) => event === 'audit.trimmed') ?? {}
  expect(fields).toEqual({ count: made.length - left.length })
  expect(left.length).toBeGreaterThan(0)
  const kept = new AuditStore({ path: join(directory.path, 'audit.db'), onDamage: () => undefined })
  expect(kept.usedBytes).toBeLessThanOrEqual(mostBytes)
  kept.close()
  await stop()
})
