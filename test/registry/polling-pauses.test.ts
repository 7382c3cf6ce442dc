/** Tests pauses of polling over a table of the log, as two nodes see them. */
import { expect, onTestFinished, test } from 'vitest'
import type { Log } from '../../src/log/log.ts'
import type { Table } from '../../src/log/tables.ts'
import { type Pause, PollingPauses } from '../../src/registry/polling-pauses.ts'
import { until } from '../support/http/api-server.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const NOW_MS = Date.parse('2026-06-01T06:00:00Z')

/** A running node on that log. */
function start(log: Log, clock = createManualClock(NOW_MS)) {
  const { logger, lines } = keepingLogger()
  const pauses = new PollingPauses({ log, clock, logger })
  const stopping = new AbortController()
  const shown: (Pause | null)[] = []
  const following = (async () => {
    for await (const pause of pauses.follow(stopping.signal)) shown.push(pause)
  })()
  const running = pauses.run(stopping.signal)
  onTestFinished(async () => {
    stopping.abort()
    await Promise.all([running, following])
  })
  return { pauses, lines, shown, clock }
}

/** That log for a node that reads a table when it starts, and no change after. */
function lagging(log: Log): Log {
  const table = <V>(name: string): Table<V> => ({
    ...log.table<V>(name),
    changes: log.table<V>('another').changes,
  })
  return { ...log, table }
}

test('a pause is known to every node and to those that start later, until it is resumed anywhere', async () => {
  const log = createMemoryLog()
  const first = start(log)
  const second = start(log)
  await until(() => first.pauses.isLoaded && second.pauses.isLoaded)
  const pause = await first.pauses.pause('tok_a', 'key changes')
  expect(pause).toEqual({ sinceMs: NOW_MS, by: 'tok_a', reason: 'key changes' })
  expect(first.pauses.current).toEqual(pause)
  const third = start(log)
  await until(() => second.shown.length === 2 && third.shown.length === 1)
  expect([second.shown, third.shown]).toEqual([[null, pause], [pause]])
  third.clock.advance(60_000)
  expect(await third.pauses.resume()).toEqual(pause)
  await until(() => first.pauses.current === null && second.shown.length === 3)
  expect(second.shown.at(-1)).toBeNull()
  expect(third.lines.map(({ event, fields }) => [event, fields])).toEqual([
    ['polling.paused', { from: '2026-06-01T06:00:00.000Z', by: 'tok_a', reason: 'key changes' }],
    ['polling.resumed', { durationMs: 60_000 }],
  ])
})

test('a second pause changes nothing, and nor does to resume what is not paused', async () => {
  const node = start(createMemoryLog())
  await until(() => node.pauses.isLoaded)
  expect(await node.pauses.resume()).toBeNull()
  const pause = await node.pauses.pause('tok_a', 'first')
  node.clock.advance(5000)
  expect(await node.pauses.pause('tok_b', 'second')).toEqual(pause)
  expect(node.shown).toEqual([null, pause])
})

test('a node that has not read the latest changes still pauses and resumes for all', async () => {
  const log = createMemoryLog()
  const behind = start(lagging(log))
  await until(() => behind.pauses.isLoaded)
  const node = start(log)
  await until(() => node.pauses.isLoaded)
  await node.pauses.pause('tok_a', null)
  expect(behind.pauses.current).toBeNull()
  expect(await behind.pauses.resume()).toBeNull()
  await until(() => node.pauses.current === null)

  const pause = await node.pauses.pause('tok_a', 'again')
  const late = start(lagging(log))
  await until(() => late.pauses.isLoaded)
  await node.pauses.resume()
  expect(await late.pauses.pause('tok_b', null)).toEqual(pause)
  await until(() => node.pauses.current !== null)
  expect(node.pauses.current).toEqual(pause)
})

test('to pause again keeps what a later build wrote', async () => {
  const log = createMemoryLog()
  const row = { sinceMs: NOW_MS, by: 'tok_a', reason: null, mode: 'soft' }
  await log.table('operations').put('polling_pause', row)
  const node = start(log)
  await until(() => node.pauses.isLoaded)
  await node.pauses.pause('tok_b', null)
  expect((await log.table('operations').load()).get('polling_pause')).toEqual(row)
})

test('a row of a later build pauses too, whatever of it this one cannot read', async () => {
  const log = createMemoryLog()
  for (const row of [{ sinceMs: 'noon', mode: 'soft' }, 'yes']) {
    await log.table('operations').put('polling_pause', row)
    const node = start(log)
    await until(() => node.pauses.isLoaded)
    expect(node.pauses.current).toEqual({ sinceMs: 0, by: null, reason: null })
  }
})
