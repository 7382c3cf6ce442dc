import { expect, test } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { HOUR_MS } from '../../../src/core/durations.ts'
import type { ApiEvent } from '../http/api-client.ts'
import { epochLog, type JudgedReader, judgeReaders } from './reader-verdict.ts'

const SEVEN = Date.parse('2026-02-03T07:00:00Z')

/** An event of that log a minute behind the one before; every second one is of category FR. */
function logged(epoch: string, sequence: number, guid: string, timeMs = SEVEN + sequence * 60_000): ApiEvent {
  const timestamp = new Date(timeMs).toISOString()
  const category = [{ kind: 'FCA', code: sequence % 2 === 0 ? 'FR' : 'TVR' }]
  return {
    id: guid,
    sequence: String(sequence).padStart(20, '0'),
    epoch,
    type: 'disclosure.published.v1',
    time: timestamp,
    data: { guid, timestamp, headline: 'Results', category },
  } as unknown as ApiEvent
}

const old = epochLog(['a', 'b', 'c', 'd'].map((guid, at) => logged('oldepoch', at + 1, guid)))
const next = epochLog(['a', 'b', 'c', 'd', 'e', 'f'].map((guid, at) => logged('newepoch', at + 1, guid)))
const taken = (log: typeof old, sequences: readonly number[]) =>
  sequences.map((sequence) => ({ id: log.events[sequence - 1]?.id ?? '?', epoch: log.epoch, sequence }))
const cursor = (epoch: string, sequence: number, timeMs = SEVEN + sequence * 60_000): string =>
  encodeCursor({ epoch, sequence, timeMs })

/** Had everything of the old log and of the new one. */
const whole: JudgedReader = {
  options: { filter: {} },
  taken: [...taken(old, [1, 2, 3, 4]), ...taken(next, [1, 2, 3, 4, 5, 6])],
  moves: [{ from: cursor('oldepoch', 4), isTold: true }],
  cursor: cursor('newepoch', 6),
  complaints: [],
}
const judge = (changes: Partial<JudgedReader>) => judgeReaders([{ ...whole, ...changes }], [old, next])

test('a reader that got every event has no violation', () => {
  expect(judge({})).toMatchObject({
    matching: 10,
    taken: 10,
    missing: 0,
    announced: 0,
    untold: 0,
    broken: [],
  })
})

test('a hole counts as missing, in either epoch and at the very end', () => {
  expect(judge({ taken: [...taken(old, [1, 3, 4]), ...taken(next, [1, 2, 3, 4, 5, 6])] }).missing).toBe(1)
  expect(judge({ taken: [...taken(old, [1, 2, 3, 4]), ...taken(next, [1, 2, 4, 5, 6])] }).missing).toBe(1)
  expect(judge({ taken: [...taken(old, [1, 2, 3, 4]), ...taken(next, [1, 2, 3, 4, 5])] })).toMatchObject({
    missing: 1,
    broken: [expect.stringContaining('misses 1 of newepoch, the first 6')],
  })
})

test('an event outside the filter, or of no log, counts as foreign', () => {
  const filter = { fcaCategories: ['FR'] }
  expect(judge({ options: { filter } })).toMatchObject({ foreign: 5, missing: 0 })
  expect(judge({ taken: [...whole.taken, { id: 'x', epoch: 'newepoch', sequence: 7 }] }).foreign).toBe(1)
  expect(judge({ taken: [...whole.taken, { id: 'a', epoch: 'another0', sequence: 1 }] }).foreign).toBe(1)
})

test('a repeat is counted, an event after a later one counts as disorder', () => {
  expect(judge({ taken: [...whole.taken, ...taken(next, [6])] })).toMatchObject({ repeats: 1, broken: [] })
  const swapped = [...taken(old, [1, 3, 2, 4]), ...taken(next, [1, 2, 3, 4, 5, 6])]
  expect(judge({ taken: swapped })).toMatchObject({ disordered: 1, missing: 0 })
  const mixed = [
    ...taken(old, [1, 2, 3]),
    ...taken(next, [1]),
    ...taken(old, [4]),
    ...taken(next, [2, 3, 4, 5, 6]),
  ]
  expect(judge({ taken: mixed }).disordered).toBe(1)
})

test('an unannounced epoch change is counted for every reader with a cursor of the old epoch', () => {
  expect(judge({ moves: [{ from: cursor('oldepoch', 4), isTold: false }] }).untold).toBe(1)
  expect(judge({ taken: taken(old, [1, 2, 3, 4]), moves: [], cursor: cursor('oldepoch', 4) }).untold).toBe(1)
  expect(judge({ taken: taken(next, [1, 2, 3, 4, 5, 6]), moves: [] })).toMatchObject({
    untold: 0,
    missing: 0,
  })
})

test('events unread at the end of an epoch are announced by a gap, or arrive in the new one', () => {
  const moves = [{ from: cursor('oldepoch', 2), isTold: true }]
  const early = [...taken(old, [1, 2]), ...taken(next, [1, 2, 3, 4, 5, 6])]
  expect(judge({ taken: early, moves })).toMatchObject({ announced: 0, missing: 0, broken: [] })
  const other = epochLog(['y', 'z'].map((guid, at) => logged('newepoch', at + 1, guid)))
  const forgotten = judgeReaders(
    [{ ...whole, moves, taken: [...taken(old, [1, 2]), ...taken(other, [1, 2])] }],
    [old, other],
  )
  expect(forgotten).toMatchObject({ announced: 2, missing: 0, broken: [] })
})

test('in the new epoch every event from an hour before the cursor’s time on is required', () => {
  const moves = [{ from: cursor('oldepoch', 4, SEVEN + 3 * 60_000 + HOUR_MS), isTold: true }]
  const later = (sequences: readonly number[]) => [...taken(old, [1, 2, 3, 4]), ...taken(next, sequences)]
  expect(judge({ moves, taken: later([3, 4, 5, 6]) }).missing).toBe(0)
  expect(judge({ moves, taken: later([4, 5, 6]) }).missing).toBe(1)
})

test('a log with a hole is refused as reference', () => {
  expect(() => epochLog([logged('oldepoch', 2, 'b')])).toThrow('hole')
})
