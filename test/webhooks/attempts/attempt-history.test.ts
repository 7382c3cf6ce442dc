import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createSearchSlices } from '../../../src/archive/reading/search-slices.ts'
import { attemptOutcomes } from '../../../src/core/attempt-end.ts'
import { BridgeError } from '../../../src/errors.ts'
import type { Journal } from '../../../src/log/journal.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { openDatabase } from '../../../src/storage/database.ts'
import { AttemptHistory } from '../../../src/webhooks/attempts/attempt-history.ts'
import { AttemptQueue } from '../../../src/webhooks/attempts/attempt-queue.ts'
import {
  ATTEMPTS_KEPT_MS,
  type AttemptPage,
  attemptPage,
} from '../../../src/webhooks/attempts/attempt-record.ts'
import { AttemptStore } from '../../../src/webhooks/attempts/attempt-store.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { until } from '../../support/http/api-server.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { EPOCH } from '../../support/store.ts'
import { attemptedOf, recordOf } from '../../support/webhooks/attempted.ts'
import { endpointNode, wantedEndpoint } from '../../support/webhooks/endpoints.ts'
import { historyWorld, NOW_MS } from './history-world.ts'

test('follows the journal and resumes after a restart at the position in its file', async () => {
  const asked: (string | null)[] = []
  const world = await historyWorld((journal) => ({
    ...journal,
    read(after, signal) {
      asked.push(after)
      return journal.read(after, signal)
    },
  }))
  const first = world.open()
  await world.tell(1, 2)
  await until(() => first.sequences().length === 2)
  await world.tell(3)
  await until(() => first.sequences().length === 3)
  await first.close()
  await world.tell(4)
  const second = world.open()
  await until(() => second.sequences().length === 4)
  expect(asked).toEqual([null, '2'])
  await second.close()
})

describe('attempts from the journal', () => {
  /** The position at which a new process would resume if this one were killed now. */
  const positionIn = (path: string): string | null => {
    for (const side of ['', '-wal']) copyFileSync(`${path}${side}`, `${path}.copy${side}`)
    const store = new AttemptStore({ path: `${path}.copy`, durable: false, onDamage: () => undefined })
    const { position } = store
    store.close()
    return position
  }

  test('are listed at once, and advance the position in the file after five seconds', async () => {
    const world = await historyWorld()
    const { sequences, close } = world.open()
    await world.tell(1, 2)
    await until(() => sequences().length === 2)
    world.clock.advance(4999)
    await world.tell(3)
    await until(() => sequences().length === 3)
    expect(positionIn(world.path)).toBeNull()
    world.clock.advance(1)
    await world.tell(4)
    await until(() => positionIn(world.path) !== null)
    await until(() => sequences().length === 4)
    await close()
  })

  test('are written without a delay when ten thousand are pending', async () => {
    const world = await historyWorld()
    const { close } = world.open()
    for (let page = 0; page < 10; page++) {
      await world.tell(...Array.from({ length: 1000 }, (_, at) => page * 1000 + at + 1))
    }
    await until(() => positionIn(world.path) === '10')
    await close()
  })
})

test('skips unreadable records and logs how many', async () => {
  const world = await historyWorld()
  const { sequences, close } = world.open()
  await world.journal.append([{ epoch: 7, attempts: [] } as unknown as AttemptPage])
  await world.tell(1)
  await until(() => sequences().length === 1)
  expect(world.lines).toEqual([
    { level: 'warn', event: 'attempt_history.entries_unreadable', fields: { count: 1 } },
  ])
  await close()
})

test.each<[string, (path: string) => void]>([
  ['is no database', (path) => writeFileSync(path, 'x'.repeat(9000))],
  [
    'is of another version',
    (path) => {
      const db = openDatabase({ path, durable: false })
      db.exec('PRAGMA user_version = 99')
      db.close()
    },
  ],
])('recreates its file from the journal if it %s', async (_, spoil) => {
  const world = await historyWorld()
  await world.tell(1, 2, 3)
  spoil(world.path)
  const { sequences, close } = world.open()
  await until(() => sequences().length === 3)
  expect(world.lines.map(({ event }) => event)).toEqual(['attempt_history.rebuilt'])
  await close()
})

test('recreates its file when damage only shows while it runs', async () => {
  const world = await historyWorld()
  const first = world.open()
  await world.tell(1, 2, 3)
  await until(() => first.sequences().length === 3)
  await first.close()
  const bytes = readFileSync(world.path)
  // Opening the file reads only its first three pages.
  writeFileSync(world.path, bytes.fill(0xff, 3 * 8192))
  const { history, sequences, close } = world.open()
  const list = () => history.attempts(world.id, { outcomes: attemptOutcomes, before: null, limit: 9 })
  expect(list).toThrow(expect.objectContaining({ code: 'log_unavailable' }))
  await until(() => {
    world.clock.advance(100)
    return list().length === 3
  })
  expect(sequences()).toEqual([3, 2, 1])
  expect(world.lines.map(({ event }) => event)).toContain('attempt_history.rebuilt')
  await close()
})

test('waits while the journal is unavailable, then rebuilds from its file', async () => {
  let isAway = true
  const world = await historyWorld((journal) => ({
    ...journal,
    async *read(after, signal) {
      if (isAway) throw new BridgeError('log_damaged', 'a record cannot be read')
      yield* journal.read(after, signal)
    },
  }))
  const { sequences, close } = world.open()
  await world.tell(1)
  await until(() => world.lines.some(({ event }) => event === 'attempt_history.unavailable'))
  expect(sequences()).toEqual([])
  isAway = false
  await until(() => {
    world.clock.advance(100)
    return sequences().length === 1
  })
  await close()
})

test('retries while the file cannot be created, answers unavailable meanwhile, and continues once it can', async () => {
  const world = await historyWorld()
  const path = join(world.path, '..', 'later', 'attempts.db')
  const { history, sequences, close } = world.open(path)
  await world.tell(1)
  const list = () => history.attempts(world.id, { outcomes: attemptOutcomes, before: null, limit: 9 })
  expect(list).toThrow(expect.objectContaining({ code: 'log_unavailable' }))
  await until(() => world.lines.some(({ event }) => event === 'attempt_history.unavailable'))
  mkdirSync(join(path, '..'))
  await until(() => {
    world.clock.advance(100)
    return list().length === 1
  })
  expect(sequences()).toEqual([1])
  await close()
})

test('deletes rows older than a week, and the rows of a deleted endpoint', async () => {
  const world = await historyWorld()
  const { history, sequences, close } = world.open()
  const lasting = wantedEndpoint()
  await world.endpoints.create(lasting)
  await world.tell(1)
  const late = recordOf({ endpointId: lasting.id, sequence: 2, atMs: NOW_MS + ATTEMPTS_KEPT_MS })
  await world.journal.append([
    attemptPage(EPOCH, [
      late,
      recordOf({ endpointId: lasting.id, atMs: NOW_MS - 1000 }),
      recordOf({ endpointId: lasting.id, sequence: 3, atMs: NOW_MS - ATTEMPTS_KEPT_MS - 1 }),
    ]),
  ])
  await until(() => sequences().length === 1 && sequences(lasting.id).includes(1))
  await world.endpoints.delete(world.id, () => undefined)
  world.clock.advance(30_000)
  await until(() => sequences().length === 0)
  expect(sequences(lasting.id)).toEqual([2, 1])
  world.clock.advance(ATTEMPTS_KEPT_MS)
  await until(() => sequences(lasting.id).length === 1)
  expect(sequences(lasting.id)).toEqual([2])
  const store = new AttemptStore({ path: world.path, durable: false, onDamage: () => undefined })
  expect(store.endpointIds()).toEqual([lasting.id])
  store.close()
  expect(history.attempts(lasting.id, { outcomes: ['ok'], before: null, limit: 9 })).toHaveLength(1)
  await close()
})

test('reads no journal and creates no file before the first endpoint exists', async () => {
  const log = createMemoryLog()
  const { endpoints, clock } = await endpointNode(log)
  const { logger } = keepingLogger()
  using directory = temporaryDirectory()
  const path = join(directory.path, 'attempts.db')
  const journal: Journal<AttemptPage> = {
    append: () => Promise.reject(new Error('nobody appends here')),
    read() {
      throw new Error('it was asked for')
    },
  }
  const history = new AttemptHistory({
    path,
    journal,
    isDirect: false,
    endpoints,
    searchSlices: createSearchSlices(clock),
    clock,
    chance: () => 0,
    logger,
  })
  const stop = new AbortController()
  const running = history.run(stop.signal)
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
  stop.abort()
  await running
  expect(existsSync(path)).toBe(false)
})

describe('the attempt history with direct writes', () => {
  /** A node that writes attempts directly to the file, as on the embedded log. */
  async function directWorld() {
    const world = await historyWorld()
    const open = () => {
      const { clock, endpoints, searchSlices, journal, path, id } = world
      const { logger, lines } = keepingLogger()
      const metrics = createMetrics({ version: '0' })
      const chance = () => 0.5
      const history = new AttemptHistory({
        ...{ path, journal, isDirect: true, endpoints, searchSlices, clock, chance, logger },
      })
      const queue = new AttemptQueue({ sink: history.sink, clock, chance, metrics, logger })
      history.includePending((endpointIds) => queue.pendingOf(endpointIds))
      const stop = new AbortController()
      const running = history.run(stop.signal)
      const add = (...sequences: number[]): void => {
        for (const sequence of sequences) {
          queue.add(attemptedOf({ endpointId: id, sequence, startedMs: NOW_MS - 1000 + sequence }))
        }
      }
      const sequences = (): number[] =>
        history
          .attempts(id, { outcomes: attemptOutcomes, before: null, limit: 1000 })
          .map(({ sequence }) => sequence)
      const close = async (): Promise<void> => {
        stop.abort()
        await running
        await queue.close()
        history.close()
      }
      return { add, sequences, close, lines }
    }
    return { ...world, open }
  }

  test('lists an attempt at once, keeps it over a restart, and appends nothing to the journal', async () => {
    const world = await directWorld()
    const appended: AttemptPage[] = []
    const stop = new AbortController()
    const reading = (async () => {
      for await (const { records } of world.journal.read(null, stop.signal)) appended.push(...records)
    })()
    const first = world.open()
    first.add(1, 2)
    expect(first.sequences()).toEqual([2, 1])
    first.add(3)
    await first.close()
    const second = world.open()
    expect(second.sequences()).toEqual([3, 2, 1])
    await second.close()
    stop.abort()
    await reading
    expect(appended).toEqual([])
  })

  test('writes within half a second, so that a killed process loses no more than that', async () => {
    const world = await directWorld()
    const { add, close } = world.open()
    add(1)
    const written = () => {
      const store = new AttemptStore({ path: world.path, durable: false, onDamage: () => undefined })
      const { length } = store.attempts(world.id, { outcomes: attemptOutcomes, before: null, limit: 9 })
      store.close()
      return length
    }
    expect(written()).toBe(0)
    world.clock.advance(500)
    await until(() => written() === 1)
    await close()
  })

  test('continues the journal and the file of an older version', async () => {
    const world = await directWorld()
    const older = new AttemptHistory({
      path: world.path,
      journal: world.journal,
      isDirect: false,
      endpoints: world.endpoints,
      searchSlices: world.searchSlices,
      clock: world.clock,
      chance: () => 0.5,
      logger: keepingLogger().logger,
    })
    const stop = new AbortController()
    const running = older.run(stop.signal)
    await world.tell(1, 2)
    await until(() => older.attempts(world.id, { outcomes: ['ok'], before: null, limit: 9 }).length === 2)
    stop.abort()
    await running
    older.close()
    await world.tell(3)
    const { add, sequences, close } = world.open()
    add(4)
    await until(() => sequences().length === 4)
    await until(() => sequences().length === 4)
    await close()
  })

  test('starts anew if the file is damaged, keeps that file as a copy, and logs what is lost', async () => {
    const world = await directWorld()
    writeFileSync(world.path, 'x'.repeat(9000))
    const { add, sequences, close, lines } = world.open()
    add(1)
    expect(sequences()).toEqual([1])
    expect(lines.map(({ event }) => event)).toEqual(['attempt_history.damaged'])
    expect(readFileSync(`${world.path}.damaged`, 'utf8')).toBe('x'.repeat(9000))
    await close()
  })
})
