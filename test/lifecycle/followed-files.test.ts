import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { followFiles } from '../../src/lifecycle/followed-files.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { passSeconds } from '../support/time/pass-seconds.ts'

/** Follows two files that hold `1` and `1`, and can be used where they hold the same. */
function followed(texts: readonly string[] | null = ['1', '1']) {
  const directory = temporaryDirectory()
  const paths = [join(directory.path, 'one'), join(directory.path, 'other')] as const
  const write = (one: string, other: string): void => {
    writeFileSync(paths[0], one)
    writeFileSync(paths[1], other)
  }
  write('1\n', '1\n')
  const clock = createManualClock()
  const taken: string[] = []
  const refused: unknown[] = []
  const end = new AbortController()
  const listeners = process.listenerCount('SIGHUP')
  const done = followFiles(
    {
      paths,
      texts,
      read(seen) {
        const [one, other] = paths.map(seen)
        if (one !== other) throw new Error(`${one} and ${other}`)
        return `${one}`
      },
      take: (content) => void taken.push(content),
      refuse: (error) => void refused.push(error instanceof Error ? error.message : error),
    },
    clock,
    end.signal,
  )
  onTestFinished(async () => {
    end.abort()
    await done
    directory[Symbol.dispose]()
    expect([clock.nextTimerMs(), process.listenerCount('SIGHUP')]).toEqual([null, listeners])
  })
  return { paths, write, clock, taken, refused }
}

test('a changed content is taken some seconds later, once', async () => {
  const { write, clock, taken, refused } = followed()
  await passSeconds(clock, 20)
  expect(taken).toEqual([])
  write('2', '2')
  await passSeconds(clock, 6)
  expect(taken).toEqual(['2'])
  await passSeconds(clock, 20)
  expect([taken, refused]).toEqual([['2'], []])
})

test('at SIGHUP it is taken within a second', async () => {
  const { write, clock, taken } = followed()
  write('2', '2')
  process.emit('SIGHUP', 'SIGHUP')
  await nextTurn()
  expect(taken).toEqual([])
  await passSeconds(clock, 1)
  expect(taken).toEqual(['2'])
})

test('a content that was changed before it began is taken', async () => {
  const { clock, taken } = followed(['0', '0'])
  await passSeconds(clock, 6)
  expect(taken).toEqual(['1'])
})

test('without texts it begins with what the files hold', async () => {
  const { clock, taken } = followed(null)
  await passSeconds(clock, 20)
  expect(taken).toEqual([])
})

test('a file that is still being written is neither taken nor refused', async () => {
  const { write, clock, taken, refused } = followed()
  await passSeconds(clock, 4)
  write('2', '1')
  await passSeconds(clock, 1)
  write('2', '2')
  await passSeconds(clock, 1)
  expect([taken, refused]).toEqual([[], []])
  await passSeconds(clock, 6)
  expect([taken, refused]).toEqual([['2'], []])
})

test('a content that cannot be used is refused once, and the next good one is taken', async () => {
  const { write, clock, taken, refused } = followed()
  write('2', '3')
  await passSeconds(clock, 30)
  expect([taken, refused]).toEqual([[], ['2 and 3']])
  process.emit('SIGHUP', 'SIGHUP')
  await passSeconds(clock, 10)
  expect(refused).toHaveLength(1)
  write('3', '3')
  await passSeconds(clock, 6)
  expect([taken, refused]).toEqual([['3'], ['2 and 3']])
})

test('it is refused again where the content in use was back between', async () => {
  const { write, clock, taken, refused } = followed()
  for (const [one, other] of [
    ['2', '3'],
    ['1', '1'],
    ['2', '3'],
  ] as const) {
    write(one, other)
    await passSeconds(clock, 12)
  }
  expect([taken, refused]).toEqual([[], ['2 and 3', '2 and 3']])
})

test('a file that is gone is refused with the reason, once, and taken when it is back', async () => {
  const { paths, write, clock, taken, refused } = followed()
  rmSync(paths[1])
  await passSeconds(clock, 30)
  expect([taken, refused]).toEqual([[], [expect.stringContaining('ENOENT')]])
  write('2', '2')
  await passSeconds(clock, 6)
  expect(taken).toEqual(['2'])
})
