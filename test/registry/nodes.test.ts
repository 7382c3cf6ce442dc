import { expect, onTestFinished, test } from 'vitest'
import { AppliedTimes } from '../../src/archive/replica/applied-times.ts'
import { HOUR_MS } from '../../src/core/durations.ts'
import { BridgeError } from '../../src/errors.ts'
import type { Log } from '../../src/log/log.ts'
import type { Table } from '../../src/log/tables.ts'
import { NODES_TABLE, type NodeReport, type NodeRow } from '../../src/registry/node-rows.ts'
import { GONE_MS, Nodes, REPORT_MS } from '../../src/registry/nodes.ts'
import { until } from '../support/http/api-server.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { createManualClock, type ManualClock } from '../support/time/manual-clock.ts'

const REPORT: NodeReport = {
  version: '1.2.3',
  roles: ['api'],
  startedMs: 1,
  sequence: 7,
  lagEvents: 0,
  lagMs: 0,
  filled: 1,
}

/** A running node of that log; `stop` ends it in order, `kill` without a last row. */
function start(log: Log, clock: ManualClock, id: string, report: Partial<NodeReport> = {}) {
  const own = log.table<NodeRow>(NODES_TABLE)
  let isKilled = false
  const never = new Promise<never>(() => undefined)
  const table: Table<NodeRow> = {
    load: () => own.load(),
    changes: (signal) => own.changes(signal),
    put: (key, row) => (isKilled ? never : own.put(key, row)),
    delete: (key) => (isKilled ? never : own.delete(key)),
  }
  const { logger, lines } = keepingLogger()
  const applied = new AppliedTimes()
  const told = () => {
    const newest = applied.newest(0, 10)
    return newest && { applied: { ...newest, points: newest.points.map(([...point]) => point) } }
  }
  const full = () => ({ ...REPORT, ...report, ...told() })
  const nodes = new Nodes({ table, id, report: full, applied, clock, logger })
  const stopping = new AbortController()
  const running = nodes.run(stopping.signal)
  onTestFinished(async () => {
    stopping.abort()
    isKilled = false
    await running
  })
  return {
    nodes,
    applied,
    lines,
    states: () => Object.fromEntries(nodes.list().map(({ id: name, state }) => [name, state])),
    async stop() {
      stopping.abort()
      await running
    },
    kill() {
      isKilled = true
    },
  }
}

/** Advances by so many rounds; the rows of each have arrived at `node` after it. */
async function rounds(clock: ManualClock, node: { nodes: Nodes }, count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) {
    clock.advance(REPORT_MS)
    await until(() => node.nodes.heardMs === clock.now() && clock.nextTimerMs() === REPORT_MS)
  }
}

test('each node lists all of them, itself first, with what they say of themselves', async () => {
  const [log, clock] = [createMemoryLog(), createManualClock()]
  const one = start(log, clock, 'a:1')
  const two = start(log, clock, 'b:2', { roles: ['poller', 'feed'], sequence: 5, lagEvents: 2, lagMs: 1500 })
  await until(() => one.nodes.list().length === 2 && two.nodes.list().length === 2)
  const nowMs = clock.now()
  expect(one.nodes.list()).toEqual([
    { id: 'a:1', isSelf: true, state: 'up', seenMs: nowMs, ...REPORT },
    {
      ...{ id: 'b:2', isSelf: false, state: 'up', seenMs: nowMs, ...REPORT },
      ...{ roles: ['poller', 'feed'], sequence: 5, lagEvents: 2, lagMs: 1500 },
    },
  ])
  expect(two.nodes.list().map(({ id }) => id)).toEqual(['b:2', 'a:1'])
})

test('a node that stops says so; one that is silent is gone after 45 s; an hour later neither is listed or stored', async () => {
  const [log, clock] = [createMemoryLog(), createManualClock()]
  const stays = start(log, clock, 'stays:1')
  const stops = start(log, clock, 'stops:2')
  const dies = start(log, clock, 'dies:3')
  await until(() => stays.nodes.list().length === 3)
  await stops.stop()
  dies.kill()
  await until(() => stays.states()['stops:2'] === 'stopped')
  await rounds(clock, stays, GONE_MS / REPORT_MS)
  expect(stays.states()).toEqual({ 'stays:1': 'up', 'stops:2': 'stopped', 'dies:3': 'up' })
  await rounds(clock, stays, 1)
  expect(stays.states()).toEqual({ 'stays:1': 'up', 'stops:2': 'stopped', 'dies:3': 'gone' })
  await rounds(clock, stays, HOUR_MS / REPORT_MS)
  await until(() => stays.nodes.list().length === 1)
  expect([...(await log.table(NODES_TABLE).load()).keys()]).toEqual(['stays:1'])
})

test('a node that comes back is up again', async () => {
  const [log, clock] = [createMemoryLog(), createManualClock()]
  const stays = start(log, clock, 'stays:1')
  const first = start(log, clock, 'back:1', { version: '1' })
  await until(() => stays.nodes.list().length === 2)
  await first.stop()
  await until(() => stays.states()['back:1'] === 'stopped')
  const again = start(log, clock, 'back:1', { version: '2' })
  await until(() => stays.states()['back:1'] === 'up')
  expect(stays.nodes.list()[1]?.version).toBe('2')
  expect(again.nodes.list().map(({ id }) => id)).toEqual(['back:1', 'stays:1'])
})

test('what was written before a start counts from when it was written, and nobody is in the future', async () => {
  const [log, clock] = [createMemoryLog(), createManualClock()]
  const table = log.table<NodeRow>(NODES_TABLE)
  const nowMs = clock.now()
  await table.put('old:1', { ...REPORT, atMs: nowMs - GONE_MS - 1, isStopped: false })
  await table.put('ahead:2', { ...REPORT, atMs: nowMs + HOUR_MS, isStopped: false })
  const late = start(log, clock, 'late:3')
  expect([late.nodes.heardMs, late.states()]).toEqual([null, { 'late:3': 'up' }])
  await until(() => late.nodes.heardMs !== null)
  expect(late.states()).toEqual({ 'late:3': 'up', 'old:1': 'gone', 'ahead:2': 'up' })
  expect(late.nodes.list().every(({ seenMs }) => seenMs <= nowMs)).toBe(true)
})

test('while the log is away nobody is called gone, and the failure is logged once', async () => {
  const [log, clock] = [createMemoryLog(), createManualClock()]
  start(log, clock, 'other:1')
  const own = log.table<NodeRow>(NODES_TABLE)
  let isAway = false
  /** The log is back, and the other node has not written its row yet. */
  let isBack = false
  const { logger, lines } = keepingLogger()
  const away = new BridgeError('log_unavailable', 'of this test')
  const nodes = new Nodes({
    table: {
      ...own,
      changes: async function* (signal) {
        for await (const batch of own.changes(signal)) {
          if (!isAway) yield isBack ? batch.filter(({ key }) => key === 'self:2') : batch
        }
      },
      put: (key, row) => (isAway ? Promise.reject(away) : own.put(key, row)),
    },
    id: 'self:2',
    report: () => REPORT,
    applied: new AppliedTimes(),
    clock,
    logger,
  })
  const stopping = new AbortController()
  const running = nodes.run(stopping.signal)
  await until(() => nodes.list().length === 2)
  const heardMs = nodes.heardMs
  isAway = true
  for (let round = 0; round < 10; round += 1) {
    clock.advance(REPORT_MS)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(nodes.list().map(({ state }) => state)).toEqual(['up', 'up'])
  expect(nodes.heardMs).toBe(heardMs)
  isAway = false
  isBack = true
  const states: string[] = []
  for (let round = 0; round < 4; round += 1) {
    clock.advance(REPORT_MS)
    await until(() => nodes.heardMs === clock.now() && clock.nextTimerMs() === REPORT_MS)
    states.push(nodes.list()[1]?.state ?? '')
  }
  // It has its usual 45 s, of which the time without the log counts as one round.
  expect(states).toEqual(['up', 'up', 'up', 'gone'])
  await until(() => lines.length === 2)
  expect(lines.map(({ event }) => event)).toEqual(['node.report_failed', 'node.report_recovered'])
  stopping.abort()
  await running
})

test('a dead node is gone in the end also where nobody is left to hear, and own rows come late', async () => {
  const [log, clock] = [createMemoryLog(), createManualClock()]
  const dies = start(log, clock, 'dies:1')
  const own = log.table<NodeRow>(NODES_TABLE)
  const { logger } = keepingLogger()
  let puts = 0
  const late: Table<NodeRow> = {
    ...own,
    put: async (key, row) => {
      puts += 1
      if (puts % 3 === 0) await own.put(key, row)
    },
  }
  const nodes = new Nodes({
    table: late,
    id: 'self:2',
    report: () => REPORT,
    applied: new AppliedTimes(),
    clock,
    logger,
  })
  const stopping = new AbortController()
  const running = nodes.run(stopping.signal)
  await until(() => nodes.list().length === 2 && puts === 1)
  dies.kill()
  const states: string[] = []
  for (let round = 2; round <= 15; round += 1) {
    await until(() => clock.nextTimerMs() === REPORT_MS)
    clock.advance(REPORT_MS)
    await until(() => puts === round && (puts % 3 > 0 || nodes.heardMs === clock.now()))
    if (puts % 3 === 0) states.push(nodes.list()[1]?.state ?? '')
  }
  expect(states).toEqual(['up', 'up', 'gone', 'gone', 'gone'])
  stopping.abort()
  await running
})

test('a row that this version cannot read is logged once, and the node is left out', async () => {
  const [log, clock] = [createMemoryLog(), createManualClock()]
  const node = start(log, clock, 'self:1')
  await until(() => node.nodes.heardMs !== null)
  const strange = log.table<unknown>(NODES_TABLE)
  for (let round = 0; round < 3; round += 1) await strange.put('strange:9', { version: 7 })
  await strange.put('later:9', { ...REPORT, atMs: 0, isStopped: false, more: true })
  await until(() => node.states()['later:9'] === 'up')
  expect(node.states()).toEqual({ 'self:1': 'up', 'later:9': 'up' })
  expect(node.lines.map(({ event, fields }) => [event, fields.node])).toEqual([
    ['node.unreadable', 'strange:9'],
  ])
})

test('without others that share the log the one node is listed, as of now', () => {
  const clock = createManualClock()
  const { logger } = keepingLogger()
  const nodes = new Nodes({
    table: null,
    id: 'only:1',
    report: () => REPORT,
    applied: new AppliedTimes(),
    clock,
    logger,
  })
  expect(nodes.list()).toMatchObject([{ id: 'only:1', isSelf: true, state: 'up', seenMs: clock.now() }])
  expect(nodes.heardMs).toBe(clock.now())
})

test('a node says when an event became visible on each node, as soon as that has told it', async () => {
  const [log, clock] = [createMemoryLog(), createManualClock()]
  const one = start(log, clock, 'a:1')
  const two = start(log, clock, 'b:2')
  const old = start(log, clock, 'c:3', { sequence: 7 })
  await until(() => one.nodes.list().length === 3)
  const reached = (sequence: number) =>
    Object.fromEntries(one.nodes.reachedBy('e', sequence).map(({ id, reached: said }) => [id, said]))
  one.applied.note('e', 6, [7, 1000])
  two.applied.note('e', 6, [7, 1003])
  two.applied.note('e', 7, [8, 2003])
  expect(reached(7)).toEqual({
    'a:1': { kind: 'at', atMs: 1000 },
    'b:2': { kind: 'not_kept' },
    'c:3': { kind: 'not_kept' },
  })
  await rounds(clock, one, 1)
  expect(reached(7)).toMatchObject({ 'b:2': { kind: 'at', atMs: 1003 }, 'c:3': { kind: 'not_kept' } })
  expect(reached(8)).toMatchObject({ 'a:1': { kind: 'not_yet' }, 'b:2': { kind: 'at', atMs: 2003 } })
  expect(old.nodes.reachedBy('f', 7).map(({ reached: said }) => said.kind)).toEqual([
    'not_kept',
    'not_kept',
    'not_kept',
  ])
})

test('what a later build tells of an event in another form is left out', async () => {
  const [log, clock] = [createMemoryLog(), createManualClock()]
  const one = start(log, clock, 'a:1')
  const row = { ...REPORT, atMs: clock.now(), isStopped: false, applied: 'soon' }
  await log.table<unknown>(NODES_TABLE).put('b:2', row)
  await until(() => one.nodes.list().length === 2)
  expect(one.nodes.reachedBy('e', 7).map(({ reached }) => reached.kind)).toEqual(['not_kept', 'not_kept'])
})
