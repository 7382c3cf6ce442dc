import fc from 'fast-check'
import { expect, test } from 'vitest'
import { divideFiles, openFilesLimit, parseOpenFiles } from '../../src/lifecycle/open-files.ts'

const STREAMS = 10_000
const needs = (delivers: boolean) => ({ streams: STREAMS, delivers })

test('the streams are those of the settings if enough files may be opened, or the limit is unknown', () => {
  expect(divideFiles(11_000, needs(false))).toMatchObject({ streams: STREAMS, warning: null })
  expect(divideFiles(null, needs(true))).toEqual({
    streams: STREAMS,
    warning: null,
    incoming: null,
    ops: 256,
    outgoing: 8192,
  })
})

test('they are fewer under a lower limit, with the remedy', () => {
  const { streams, warning } = divideFiles(10_999, needs(false))
  expect(streams).toBe(9999)
  expect(warning).toMatch(/11000 \(ulimit -n, LimitNOFILE\).*BRIDGE_STREAM_MAX_CLIENTS/)
  expect(divideFiles(256, needs(false)).streams).toBe(1)
})

test('from a limit of 1,000 above them on they are as many, and webhook attempts have what they leave', () => {
  expect(divideFiles(11_000, needs(true))).toMatchObject({ streams: STREAMS, warning: null, outgoing: 250 })
  expect(divideFiles(17_916, needs(true))).toMatchObject({ streams: STREAMS, warning: null, outgoing: 7166 })
  expect(divideFiles(4000, { streams: 3000, delivers: true })).toMatchObject({ streams: 3000, warning: null })
})

test('below it webhook attempts have their share, and the remedy is the lowest limit that is enough for both', () => {
  const { streams, warning } = divideFiles(4096, needs(true))
  expect(streams).toBe(1708)
  expect(warning).toMatch(/1708 streams instead of 10000, beside 1638 webhook attempts.* 17916 \(ulimit/)
  expect(divideFiles(10_999, needs(true)).warning).not.toBe(null)
})

test.each([
  [256, 90, 102, 32],
  [600, 210, 240, 75],
  [1024, 359, 409, 128],
  [2000, 700, 800, 250],
  [4096, 1958, 1638, 256],
  [11_000, 10_250, 250, 256],
  [20_000, 11_500, 8000, 256],
  [524_288, 515_596, 8192, 256],
])('%i files are %i for incoming connections and %i for deliveries', (openFiles, incoming, outgoing, ops) => {
  expect(divideFiles(openFiles, needs(true))).toMatchObject({ incoming, outgoing, ops })
  expect(divideFiles(openFiles, needs(false))).toMatchObject({ incoming: incoming + outgoing, outgoing: 0 })
})

test('all shares together are never more than the files, and every one has some', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 64, max: 1_100_000 }),
      fc.integer({ min: 0, max: 100_000 }),
      fc.boolean(),
      (openFiles, wanted, delivers) => {
        const { streams, incoming, outgoing, ops } = divideFiles(openFiles, { streams: wanted, delivers })
        const own = openFiles - (incoming ?? 0) - outgoing
        expect(own - ops).toBeGreaterThanOrEqual(Math.min(244, Math.floor(openFiles / 8)))
        expect(incoming).toBeGreaterThan(streams)
        expect(outgoing > 0).toBe(delivers)
      },
    ),
  )
})

test('streams are lowered below their number and 1,000 files, nowhere else', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 64, max: 40_000 }),
      fc.integer({ min: 0, max: 20_000 }),
      fc.boolean(),
      (openFiles, wanted, delivers) => {
        const { streams, warning, outgoing } = divideFiles(openFiles, { streams: wanted, delivers })
        const isLow = openFiles < wanted + 1000
        expect(streams < wanted).toBe(isLow && wanted > 1)
        expect(warning === null).toBe(streams === wanted)
        if (delivers && isLow) expect(outgoing).toBe(Math.min(8192, Math.floor((openFiles * 2) / 5)))
      },
    ),
  )
})

test('more files lower no share on either side of that limit', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 64, max: 40_000 }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 0, max: 20_000 }),
      fc.boolean(),
      (openFiles, more, wanted, delivers) => {
        const limit = wanted + 1000
        fc.pre(openFiles < limit === openFiles + more < limit)
        const fewer = divideFiles(openFiles, { streams: wanted, delivers })
        const greater = divideFiles(openFiles + more, { streams: wanted, delivers })
        expect(greater.streams).toBeGreaterThanOrEqual(fewer.streams)
        expect(greater.incoming ?? 0).toBeGreaterThanOrEqual(fewer.incoming ?? 0)
        expect(greater.ops).toBeGreaterThanOrEqual(fewer.ops)
        expect(greater.outgoing).toBeGreaterThanOrEqual(fewer.outgoing)
      },
    ),
  )
})

test('the soft limit counts; an unlimited or missing one is unknown', () => {
  const head = 'Limit                     Soft Limit           Hard Limit           Units     \n'
  const limits = (soft: string) =>
    `${head}Max open files            ${soft}            524288               files     \n`
  expect([limits('1024'), limits('unlimited'), ''].map(parseOpenFiles)).toEqual([1024, null, null])
  expect(openFilesLimit()).toBeGreaterThan(0)
})
