/**
 * Tests the contract of src/log/log.ts over any adapter. What an adapter can do beyond it (reopening, locks, full
 * disks) has its own tests. A behaviour that an adapter needs and this suite lacks is added here first. `takeovers.ts`
 * tests two writers.
 */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { emptyDay } from '../../src/core/calendar/day-record.ts'
import { HOUR_MS } from '../../src/core/durations.ts'
import type { Committed, NewEvent } from '../../src/core/event.ts'
import { isBridgeError } from '../../src/errors.ts'
import type { PollerWriter } from '../../src/ingest/writer-state/poller-writer.ts'
import { COMMIT_LIMIT, type KeptRejected, type RejectedItem, rejectedHash } from '../../src/log/events.ts'
import type { FaultHooks } from '../../src/log/fault-hooks.ts'
import type { Log } from '../../src/log/log.ts'
import { newestRejected } from '../support/newest-rejected.ts'
import { describeRequests } from './requests.ts'
import {
  asGiven,
  claimed,
  followed,
  gapFilled,
  gapOpened,
  idsOf,
  START_MS,
  sampleEvent,
  sampleEvents,
  sampleGap,
  sampleRejected,
  sequencesOf,
} from './samples.ts'
import { describeTakeovers, type OpenLog } from './takeovers.ts'

/** Runs the suite over logs that `open` creates, each unused, with its fault-injection hooks. */
export function describeLog(name: string, open: OpenLog): void {
  describeTakeovers(name, open)
  describeRequests(name, open)
  describe(`the ${name} log`, () => {
    let log: Log
    let faultHooks: FaultHooks
    beforeEach(async () => {
      faultHooks = {}
      log = await open(faultHooks)
    })
    afterEach(() => log.close())

    const crash = (): never => {
      throw new Error('the machine stopped here')
    }

    describe('leading', () => {
      it('lets this process lead until the log is closed', async () => {
        const term = await log.campaign(new AbortController().signal)
        expect(term.lost.aborted).toBe(false)
        await log.close()
        expect(term.lost.aborted).toBe(true)
      })

      it('ends a term, also twice, and campaigns again after it', async () => {
        const { signal } = new AbortController()
        const term = await log.campaign(signal)
        await term.end()
        await term.end()
        const next = await log.campaign(signal)
        expect(next.lost.aborted).toBe(false)
        expect((await log.claim(next, signal)).sequence).toBe(0)
      })

      it('rejects a campaign and a claim with the reason of a signal that aborted first', async () => {
        const reason = new Error('stopping')
        const term = await log.campaign(new AbortController().signal)
        await expect(log.campaign(AbortSignal.abort(reason))).rejects.toBe(reason)
        await expect(log.claim(term, AbortSignal.abort(reason))).rejects.toBe(reason)
      })

      it('gives an unused log an epoch of eight letters and digits and an empty state', async () => {
        const { state } = await claimed(log)
        expect(state.head.epoch).toMatch(/^[A-Za-z0-9]{8}$/)
        expect(state.head).toEqual({
          epoch: state.head.epoch,
          sequence: 0,
          cursor: null,
          cursorTimeMs: null,
          latestTimeMs: 0,
          lastCleanPollMs: null,
          lastSpendMs: null,
          lastGood: null,
          refusedUntilMs: null,
          openGaps: [],
          backfill: null,
          sweep: null,
          round: null,
          profile: null,
          days: [],
          firstPage: null,
          countedFromMs: null,
        })
        expect(state.ledger.size).toBe(0)
      })

      it('keeps the epoch over claims and never gives two logs the same', async () => {
        const first = await claimed(log)
        const second = await claimed(log)
        expect(second.state.head.epoch).toBe(first.state.head.epoch)
        const other = await open({})
        expect((await claimed(other)).state.head.epoch).not.toBe(first.state.head.epoch)
        await other.close()
      })

      it('starts the next claim with exactly the state after the last commit', async () => {
        const writer = await claimed(log)
        await writer.spend(2, 'fill', START_MS)
        await writer.commit({
          events: sampleEvents(1, 3),
          head: {
            cursor: 'c"1',
            latestTimeMs: START_MS,
            lastCleanPollMs: START_MS - 5,
            openGaps: [sampleGap('z'), sampleGap('a')],
            backfill: { doneToMs: 1, untilMs: 2 },
            sweep: { fromMs: 1, dueAtMs: 2, attempts: 0 },
            days: [emptyDay('2026-01-05'), { ...emptyDay('2026-01-06'), polled: 3 }],
            countedFromMs: START_MS,
          },
        })
        const next = await claimed(log)
        expect(next.state).toEqual(writer.state)
        expect(next.state.head.openGaps.map((gap) => gap.id)).toEqual(['z', 'a'])
      })
    })

    describe('the rows of a commit', () => {
      const claim = async () => {
        const { signal } = new AbortController()
        return log.claim(await log.campaign(signal), signal)
      }
      const rows = new Map([
        ['head/cursor', '"c"'],
        ['own/ "key"\n–', '{"text":"“✓”"}'],
        ['gap/a', 'null'],
      ])

      it('are empty in an unused log, then the latest of each key', async () => {
        const writer = await claim()
        expect(writer.rows).toEqual(new Map())
        await writer.commit({ events: [], rows })
        const changes = new Map([
          ['head/cursor', 'null'],
          ['gap/a', null],
          ['never', null],
        ])
        await writer.commit({ events: [sampleEvent(1)], rows: changes })
        const next = await claim()
        expect(next.rows).toEqual(
          new Map([
            ['head/cursor', 'null'],
            ['own/ "key"\n–', '{"text":"“✓”"}'],
          ]),
        )
        expect([next.epoch, next.sequence]).toEqual([writer.epoch, 1])
        expect(writer.rows).toEqual(new Map())
      })

      it('are durable together with the events or not at all', async () => {
        const writer = await claim()
        await writer.commit({ events: [], rows })
        faultHooks.beforeCommit = crash
        await writer
          .commit({ events: [sampleEvent(1)], rows: new Map([['gap/a', '1']]) })
          .catch(() => undefined)
        delete faultHooks.beforeCommit
        expect((await claim()).rows).toEqual(rows)
      })

      it('are not affected by later changes of the map', async () => {
        const writer = await claim()
        const given = new Map(rows)
        const committed = writer.commit({ events: [], rows: given })
        given.clear()
        await committed
        expect((await claim()).rows).toEqual(rows)
      })
    })

    describe('the end of the log', () => {
      it('has no epoch before the first claim, then is the last committed event', async () => {
        const { signal } = new AbortController()
        expect(await log.end(signal)).toEqual({ epoch: null, sequence: 0 })
        expect(await log.oldest(signal)).toBe(null)
        const writer = await claimed(log)
        const { epoch } = writer.state.head
        expect(await log.end(signal)).toEqual({ epoch, sequence: 0 })
        await writer.commit({ events: sampleEvents(1, 3) })
        expect(await log.end(signal)).toEqual({ epoch, sequence: 3 })
        expect(await log.oldest(signal)).toBe(1)
        await expect(log.end(AbortSignal.abort(new Error('stopping')))).rejects.toThrow('stopping')
      })
    })

    describe('spending', () => {
      it('counts units by time bucket and purpose, and remembers when', async () => {
        const writer = await claimed(log)
        await writer.spend(1, 'poll', START_MS + 5)
        await writer.spend(3, 'fill', START_MS + 6)
        await writer.spend(1, 'poll', START_MS + HOUR_MS)
        expect(writer.state.head.lastSpendMs).toBe(START_MS + HOUR_MS)
        const { state } = await claimed(log)
        expect([...state.ledger]).toEqual([
          [START_MS, { poll: 1, fill: 3 }],
          [START_MS + HOUR_MS, { poll: 1 }],
        ])
      })

      it('keeps its counts when the clock of a later spend is far ahead', async () => {
        const writer = await claimed(log)
        const aheadMs = START_MS + 40 * 24 * HOUR_MS
        await writer.spend(2, 'poll', START_MS)
        await writer.spend(1, 'poll', aheadMs)
        await writer.spend(1, 'poll', START_MS + HOUR_MS)
        expect((await claimed(log)).state.ledger).toEqual(
          new Map([
            [START_MS, { poll: 2 }],
            [START_MS + HOUR_MS, { poll: 1 }],
            [aheadMs, { poll: 1 }],
          ]),
        )
      })

      it('refunds units to the time bucket they were spent in, and never more than were spent', async () => {
        const writer = await claimed(log)
        await writer.spend(3, 'poll', START_MS)
        await writer.spend(2, 'poll', START_MS + HOUR_MS)
        await writer.commit({
          events: [],
          refunds: [
            { atMs: START_MS + 10, units: 1, purpose: 'poll' },
            { atMs: START_MS + HOUR_MS, units: 9, purpose: 'poll' },
            { atMs: START_MS, units: 1, purpose: 'sweep' },
          ],
        })
        expect([...(await claimed(log)).state.ledger]).toEqual([
          [START_MS, { poll: 2 }],
          [START_MS + HOUR_MS, { poll: 0 }],
        ])
      })
    })

    describe('committing', () => {
      it('gives each event the next sequence, gap-free from 1, and resolves with them in place', async () => {
        const writer = await claimed(log)
        const first = await writer.commit({ events: sampleEvents(1, 3) })
        const second = await writer.commit({ events: sampleEvents(4, 5) })
        expect(sequencesOf([...first, ...second])).toEqual([1, 2, 3, 4, 5])
        expect(new Set([...first, ...second].map((event) => event.epoch))).toEqual(
          new Set([writer.state.head.epoch]),
        )
        expect(writer.state.head.sequence).toBe(5)
        expect((await followed(log, 0, 5)).map(asGiven)).toEqual([...first, ...second])
      })

      it('keeps every attribute of an event as it was given', async () => {
        const writer = await claimed(log)
        const odd: NewEvent = {
          ...sampleEvent(1),
          late: true,
          replacesid: 'urn:newsml:example:0',
          subject: 'an "odd" issuer\n–',
          time: '2026-01-06T07:00:01.5+00:00',
          timeMs: START_MS + 1500,
        }
        await writer.commit({ events: [odd, sampleEvent(2)] })
        const [stored] = await followed(log, 0, 2)
        expect(stored && asGiven(stored)).toEqual({ ...odd, sequence: 1, epoch: writer.state.head.epoch })
      })

      it('stores how each item was found, by which request, and when it was committed; a gap event was found by nothing', async () => {
        const writer = await claimed(log)
        const found = (['poll', 'fill', 'sweep', 'backfill'] as const).map((foundBy, index) => ({
          ...sampleEvent(index + 1),
          foundBy,
          journey: `sent=${index} poll=60000`,
        }))
        await writer.commit({ events: [...found, gapOpened(sampleGap('g'))] })
        const stored = await followed(log, 0, 5)
        expect(stored.map(({ foundBy }) => foundBy)).toEqual([
          ...found.map(({ foundBy }) => foundBy),
          undefined,
        ])
        expect(stored.map(({ journey }) => journey)).toEqual([
          ...found.map(({ journey }) => journey),
          undefined,
        ])
        const [committedMs = 0] = stored.map((event) => event.committedMs)
        expect(committedMs).toBeGreaterThan(0)
        for (const event of stored) expect(event.committedMs).toBe(committedMs)
      })

      it('keeps the rejected records beside the events, newest last', async () => {
        const writer = await claimed(log)
        await writer.commit({ events: [], rejected: [sampleRejected(1), sampleRejected(2)] })
        await writer.commit({ events: [sampleEvent(1)], rejected: [{ ...sampleRejected(3), guid: 'g' }] })
        expect(await newestRejected(log, 2)).toEqual([sampleRejected(2), { ...sampleRejected(3), guid: 'g' }])
        expect(await newestRejected(log, 10)).toHaveLength(3)
        expect(await newestRejected(log, 0)).toEqual([])
      })

      it('pages through the rejected records, newest first, bounded by number and bytes', async () => {
        const writer = await claimed(log)
        const items = [1, 2, 3, 4, 5].map(sampleRejected)
        expect(await log.rejectedPage({ before: null, limit: 2, mostBytes: 1e6 })).toEqual([])
        for (const item of items) await writer.commit({ events: [], rejected: [item] })
        const pages: RejectedItem[][] = []
        for (let before: number | null = null; ; ) {
          const page: KeptRejected[] = await log.rejectedPage({ before, limit: 2, mostBytes: 1e6 })
          pages.push(page.map(({ place: _, ...item }) => item))
          if (page.length === 0) break
          before = page.at(-1)?.place ?? null
        }
        expect(pages).toEqual([items.slice(3).reverse(), items.slice(1, 3).reverse(), items.slice(0, 1), []])
        const small = await log.rejectedPage({ before: null, limit: 5, mostBytes: 1 })
        expect(small.length).toBeGreaterThanOrEqual(1)
      })

      it('returns the newest rejected records by hash, newest last', async () => {
        const writer = await claimed(log)
        const items = Array.from({ length: 40 }, (_, index) => sampleRejected(index))
        for (let first = 0; first < 40; first += 4) {
          await writer.commit({ events: [], rejected: items.slice(first, first + 4) })
        }
        const hashes = items.map(({ raw }) => rejectedHash(raw))
        expect(await log.rejectedHashes(100)).toEqual(hashes)
        expect(await log.rejectedHashes(3)).toEqual(hashes.slice(-3))
        expect(await log.rejectedHashes(0)).toEqual([])
      })

      it('changes only the head fields that the commit names', async () => {
        const writer = await claimed(log)
        await writer.commit({ events: [], head: { cursor: 'one', latestTimeMs: 7 } })
        await writer.commit({ events: [], head: { cursor: null } })
        expect(writer.state.head).toMatchObject({ cursor: null, latestTimeMs: 7 })
        expect((await claimed(log)).state.head).toEqual(writer.state.head)
      })

      it('is not affected by later changes of the commit object', async () => {
        const writer = await claimed(log)
        const gap = sampleGap('one')
        await writer.commit({ events: [], head: { openGaps: [gap] } })
        gap.attempts = 9
        expect(writer.state.head.openGaps[0]?.attempts).toBe(0)
        expect((await claimed(log)).state.head.openGaps[0]?.attempts).toBe(0)
      })

      it(`accepts ${COMMIT_LIMIT} events and refuses one more with nothing written`, async () => {
        const writer = await claimed(log)
        await expect(writer.commit({ events: sampleEvents(1, COMMIT_LIMIT + 1) })).rejects.toThrow(RangeError)
        expect((await claimed(log)).state.head.sequence).toBe(0)
        const next = await claimed(log)
        expect(await next.commit({ events: sampleEvents(1, COMMIT_LIMIT) })).toHaveLength(COMMIT_LIMIT)
      })

      it('continues after a commit that was refused for its size', async () => {
        const writer = await claimed(log)
        await writer.commit({ events: sampleEvents(1, COMMIT_LIMIT + 1) }).catch(() => undefined)
        expect(sequencesOf(await writer.commit({ events: [sampleEvent(1)] }))).toEqual([1])
      })

      it('runs operations one after the other in the order they were called', async () => {
        const writer = await claimed(log)
        const results = await Promise.all([
          writer.commit({ events: sampleEvents(1, 2) }),
          writer.spend(1, 'poll', START_MS),
          writer.commit({ events: [sampleEvent(3)] }),
        ])
        expect(sequencesOf(results[0])).toEqual([1, 2])
        expect(sequencesOf(results[2])).toEqual([3])
        expect(writer.state).toEqual((await claimed(log)).state)
      })
    })

    describe('an unknown outcome', () => {
      const endsUnknown = async (writer: PollerWriter): Promise<void> => {
        const commit = { events: sampleEvents(1, 2), rejected: [sampleRejected(1)], head: { cursor: 'next' } }
        await expect(writer.commit(commit)).rejects.toMatchObject({ code: 'log_unknown' })
      }

      it('before it was durable: the next claim reads that nothing happened', async () => {
        const writer = await claimed(log)
        await writer.spend(1, 'poll', START_MS)
        faultHooks.beforeCommit = crash
        await endsUnknown(writer)
        delete faultHooks.beforeCommit
        const next = await claimed(log)
        expect(next.state.head).toMatchObject({ sequence: 0, cursor: null })
        expect([...next.state.ledger]).toEqual([[START_MS, { poll: 1 }]])
        expect(await newestRejected(log, 10)).toEqual([])
        await next.commit({ events: sampleEvents(1, 2) })
        expect(sequencesOf(await followed(log, 0, 2))).toEqual([1, 2])
      })

      it('after it was durable: the next claim reads that all of it happened', async () => {
        const writer = await claimed(log)
        faultHooks.afterCommit = crash
        await endsUnknown(writer)
        delete faultHooks.afterCommit
        const next = await claimed(log)
        expect(next.state.head).toMatchObject({ sequence: 2, cursor: 'next' })
        expect(await newestRejected(log, 10)).toHaveLength(1)
        expect(idsOf(await followed(log, 0, 2))).toEqual(idsOf(sampleEvents(1, 2)))
      })

      it('of a spend is read the same way', async () => {
        const writer = await claimed(log)
        faultHooks.afterCommit = crash
        await expect(writer.spend(1, 'poll', START_MS)).rejects.toMatchObject({ code: 'log_unknown' })
        delete faultHooks.afterCommit
        expect([...(await claimed(log)).state.ledger]).toEqual([[START_MS, { poll: 1 }]])
      })

      it('kills the writer: every later operation throws the same', async () => {
        const writer = await claimed(log)
        faultHooks.beforeCommit = crash
        const ended = await writer.commit({ events: [] }).catch((error: unknown) => error)
        delete faultHooks.beforeCommit
        expect(isBridgeError(ended, 'log_unknown')).toBe(true)
        await expect(writer.commit({ events: [] })).rejects.toBe(ended)
        await expect(writer.spend(1, 'poll', START_MS)).rejects.toBe(ended)
      })

      it('leaves the writer state at the last operation that resolved', async () => {
        const writer = await claimed(log)
        await writer.commit({ events: [sampleEvent(1)] })
        faultHooks.afterCommit = crash
        await writer.commit({ events: [sampleEvent(2)] }).catch(() => undefined)
        delete faultHooks.afterCommit
        expect(writer.state.head.sequence).toBe(1)
      })
    })

    describe('fencing', () => {
      it('rejects the earlier of two writers, and shows nothing of its commit', async () => {
        const earlier = await claimed(log)
        const later = await claimed(log)
        await expect(earlier.commit({ events: [sampleEvent(1)] })).rejects.toMatchObject({
          code: 'log_fenced',
        })
        await expect(earlier.spend(1, 'poll', START_MS)).rejects.toMatchObject({ code: 'log_fenced' })
        await later.commit({ events: [sampleEvent(2)] })
        expect(idsOf(await followed(log, 0, 1))).toEqual(idsOf([sampleEvent(2)]))
        expect((await claimed(log)).state.ledger.size).toBe(0)
      })

      it('rejects a writer that was released, and lets the next one claim', async () => {
        const writer = await claimed(log)
        await writer.release()
        await writer.release()
        await expect(writer.commit({ events: [] })).rejects.toMatchObject({ code: 'log_fenced' })
        const next = await claimed(log)
        await next.commit({ events: [sampleEvent(1)] })
        expect(next.state.head.sequence).toBe(1)
      })

      it('releases a failed writer without an error', async () => {
        const writer = await claimed(log)
        faultHooks.beforeCommit = crash
        await writer.commit({ events: [] }).catch(() => undefined)
        await expect(writer.release()).resolves.toBeUndefined()
      })
    })

    describe('a chain of commits', () => {
      const gap = sampleGap('fill')

      it('shows the gap opened in its first commit and closed in its last', async () => {
        const writer = await claimed(log)
        await writer.commit({
          events: [sampleEvent(1), gapOpened(gap)],
          head: { cursor: 'c', openGaps: [gap] },
        })
        await writer.commit({ events: [sampleEvent(2)] })
        await writer.commit({ events: [sampleEvent(3), gapFilled(gap)], head: { openGaps: [] } })
        expect(idsOf(await followed(log, 0, 5))).toEqual(
          idsOf([sampleEvent(1), gapOpened(gap), sampleEvent(2), sampleEvent(3), gapFilled(gap)]),
        )
        expect((await claimed(log)).state.head.openGaps).toEqual([])
      })

      it('that breaks off leaves the gap open for the next writer', async () => {
        const writer = await claimed(log)
        await writer.commit({
          events: [sampleEvent(1), gapOpened(gap)],
          head: { cursor: 'c', openGaps: [gap] },
        })
        faultHooks.beforeCommit = crash
        await writer
          .commit({ events: [sampleEvent(2), gapFilled(gap)], head: { openGaps: [] } })
          .catch(() => undefined)
        delete faultHooks.beforeCommit
        const { state } = await claimed(log)
        expect(state.head).toMatchObject({ sequence: 2, cursor: 'c', openGaps: [gap] })
      })
    })

    describe('following', () => {
      it('begins before the first claim and sees later commits', async () => {
        const seen = followed(log, 0, 3)
        const writer = await claimed(log)
        await writer.commit({ events: sampleEvents(1, 2) })
        await writer.commit({ events: [sampleEvent(3)] })
        expect(sequencesOf(await seen)).toEqual([1, 2, 3])
      })

      it('from any position sees every later event once and in order, during concurrent commits', async () => {
        const writer = await claimed(log)
        await writer.commit({ events: sampleEvents(1, 700) })
        const positions = [0, 1, 499, 500, 699, 700, 1200]
        const seen = positions.map((after) => followed(log, after, 1300 - after))
        for (let first = 701; first <= 1300; first += 100) {
          await writer.commit({ events: sampleEvents(first, first + 99) })
        }
        for (const [index, after] of positions.entries()) {
          const expected = Array.from({ length: 1300 - after }, (_, offset) => after + 1 + offset)
          expect(sequencesOf((await seen[index]) ?? [])).toEqual(expected)
        }
      })

      it('never shows what was not committed', async () => {
        const writer = await claimed(log)
        const ended = new AbortController()
        const seen: Committed[] = []
        const following = (async () => {
          for await (const batch of log.follow(0, ended.signal)) seen.push(...batch)
        })()
        faultHooks.beforeCommit = crash
        await writer.commit({ events: sampleEvents(1, 5) }).catch(() => undefined)
        delete faultHooks.beforeCommit
        const next = await claimed(log)
        await next.commit({ events: [sampleEvent(9)] })
        await followed(log, 0, 1)
        ended.abort()
        await following
        expect(idsOf(seen)).toEqual(idsOf([sampleEvent(9)]))
      })

      it('ends when its signal aborts, and at once if it has aborted', async () => {
        const ended = new AbortController()
        const waiting = log.follow(0, ended.signal)[Symbol.asyncIterator]().next()
        ended.abort()
        expect(await waiting).toMatchObject({ done: true })
        for await (const _ of log.follow(0, AbortSignal.abort())) expect.fail('saw an event')
      })
    })

    describe('tables', () => {
      it('load every key with its latest value, apart from other tables', async () => {
        const table = log.table<{ n: number }>('one')
        await table.put('a', { n: 1 })
        await table.put('b', { n: 2 })
        await table.put('a', { n: 3 })
        await table.put('c', { n: 4 })
        await table.delete('c')
        await table.delete('never')
        await log.table('two').put('a', 'other')
        expect(await log.table('one').load()).toEqual(
          new Map([
            ['a', { n: 3 }],
            ['b', { n: 2 }],
          ]),
        )
      })

      it('return copies of values, which callers cannot change', async () => {
        const table = log.table<{ n: number }>('one')
        const value = { n: 1 }
        await table.put('a', value)
        value.n = 2
        expect((await table.load()).get('a')).toEqual({ n: 1 })
      })

      it('report every change made after the call, in order, and none made before', async () => {
        const table = log.table<number>('one')
        await table.put('before', 0)
        const ended = new AbortController()
        const changes = log.table<number>('one').changes(ended.signal)
        await table.put('a', 1)
        await table.put('a', 2)
        await table.delete('a')
        const seen = []
        let last: Promise<void> | null = null
        for await (const batch of changes) {
          seen.push(...batch)
          if (seen.length === 3) last = table.put('b', 3)
          if (seen.length === 4) ended.abort()
        }
        await last
        expect(seen).toEqual([
          { key: 'a', value: 1 },
          { key: 'a', value: 2 },
          { key: 'a', value: null },
          { key: 'b', value: 3 },
        ])
      })
    })

    describe('closing', () => {
      it('may happen twice, and every later operation throws', async () => {
        const { signal } = new AbortController()
        const term = await log.campaign(signal)
        const writer = await log.claim(term, signal)
        const table = log.table('one')
        await log.close()
        await log.close()
        await expect(log.campaign(signal)).rejects.toThrow('closed')
        await expect(log.claim(term, signal)).rejects.toThrow('closed')
        await expect(newestRejected(log, 1)).rejects.toThrow('closed')
        await expect(log.rejectedHashes(1)).rejects.toThrow('closed')
        await expect(table.put('a', 1)).rejects.toThrow('closed')
        await expect(writer.commit({ events: [] })).rejects.toMatchObject({ code: 'log_fenced' })
        expect(() => log.follow(0, signal)).toThrow('closed')
        expect(() => log.table('one')).toThrow('closed')
      })

      it('ends every reader', async () => {
        const waiting = log.follow(0, new AbortController().signal)[Symbol.asyncIterator]().next()
        await log.close()
        expect(await waiting).toMatchObject({ done: true })
      })
    })
  })
}
