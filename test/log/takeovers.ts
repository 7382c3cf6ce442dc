/**
 * Tests the log's contract between two writers: how a claim fences every earlier one, and what a crashed one leaves
 * behind. Some cases run only on adapters whose connection a test can break (`LogWay`).
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { NewEvent } from '../../src/core/event.ts'
import type { PollerWriter } from '../../src/ingest/writer-state/poller-writer.ts'
import type { FaultHooks } from '../../src/log/fault-hooks.ts'
import type { Log } from '../../src/log/log.ts'
import { claimed, followed, idsOf, START_MS, sampleEvent } from './samples.ts'

/** Opens an unused log with these fault-injection hooks. */
export type OpenLog = (faultHooks: FaultHooks) => Promise<Log> | Log

/** Messages that are held on their way. */
export interface Held {
  /** Resolves once a message is held. */
  caught(): Promise<void>
  /** Later messages pass; held ones stay held. */
  lift(): void
  /** Sends on the held messages, and holds no more. Returns how many of them arrived. */
  release(): number
}

/** The connection from a log to its storage, which a test can break. */
export interface LogWay {
  /** Holds every read request. */
  holdReads(): Held
  /** Holds the message that ends a commit. */
  holdEnds(): Held
  /** Breaks every current connection; held messages stay on their way. */
  cut(): void
  /** The number of open connections. */
  readonly connections: number
}

/** Runs the cases over logs that `open` creates; the cases that break the connection only if there is one. */
export function describeTakeovers(name: string, open: OpenLog, way?: () => LogWay): void {
  describe(`a takeover on the ${name} log`, () => {
    let log: Log
    let faultHooks: FaultHooks
    beforeEach(async () => {
      faultHooks = {}
      log = await open(faultHooks)
    })
    afterEach(() => log.close())

    it('makes every earlier writer unable to commit before the claim reads anything', async () => {
      const earlier = await claimed(log)
      await earlier.commit({ events: [sampleEvent(1)] })
      const tries: Promise<unknown>[] = []
      const tryToWrite = async (): Promise<void> => {
        tries.push(ending(earlier, sampleEvent(2)))
        await tries[0]
      }
      faultHooks.afterFence = tryToWrite
      const later = await claimed(log)
      delete faultHooks.afterFence
      if (tries.length === 0) await tryToWrite()
      expect(await tries[0]).toMatchObject({ code: 'log_fenced' })
      expect(later.state.head.sequence).toBe(1)
      await later.commit({ events: [sampleEvent(3)] })
      expect(idsOf(await followed(log, 0, 2))).toEqual(idsOf([sampleEvent(1), sampleEvent(3)]))
    })

    it('rejects an earlier writer that spends zero units, and does not change the state of a current one', async () => {
      const earlier = await claimed(log)
      await earlier.spend(1, 'poll', START_MS)
      const before = earlier.state
      await earlier.spend(0, 'poll', START_MS)
      expect(earlier.state).toEqual(before)
      const later = await claimed(log)
      expect(later.state).toEqual(before)
      await expect(earlier.spend(0, 'poll', START_MS)).rejects.toMatchObject({ code: 'log_fenced' })
    })

    if (way === undefined) return

    it('begins with everything that was committed, however late the claim reads it', async () => {
      const writer = await claimed(log)
      const reads = way().holdReads()
      for (let n = 1; n <= 5; n++) {
        await writer.commit({ events: [sampleEvent(n)] })
        await writer.spend(1, 'poll', START_MS)
      }
      await reads.caught()
      faultHooks.afterFencingToken = () => void reads.release()
      const { state } = await claimed(log)
      expect(state).toEqual(writer.state)
    })

    it('never shows an unfinished commit because an earlier one’s end arrives late', async () => {
      const first = await claimed(log)
      await first.commit({ events: [sampleEvent(1)] })
      const end = way().holdEnds()
      const lost = ending(first, sampleEvent(2))
      await end.caught()
      end.lift()
      way().cut()
      expect(await lost).toMatchObject({ code: 'log_unknown' })
      const second = await claimed(log)
      expect(second.state.head.sequence).toBe(1)
      faultHooks.afterSend = () => {
        expect(end.release()).toBe(1)
        throw new Error('the machine stopped here')
      }
      expect(await ending(second, sampleEvent(3))).toMatchObject({ code: 'log_unknown' })
      delete faultHooks.afterSend
      const third = await claimed(log)
      expect(third.state.head.sequence).toBe(1)
      await third.commit({ events: [sampleEvent(4)] })
      expect(idsOf(await followed(log, 0, 2))).toEqual(idsOf([sampleEvent(1), sampleEvent(4)]))
    })

    it('leaves no connection open of failed writers or failed claims', async () => {
      const crash = (): never => {
        throw new Error('the machine stopped here')
      }
      let writer = await claimed(log)
      await writer.commit({ events: [sampleEvent(1)] })
      await expect.poll(() => way().connections).toBeGreaterThan(0)
      const atRest = way().connections
      for (const place of ['afterSend', 'beforeCommit', 'afterCommit'] as const) {
        faultHooks[place] = crash
        expect(await ending(writer, sampleEvent(2))).toMatchObject({ code: 'log_unknown' })
        delete faultHooks[place]
        writer = await claimed(log)
      }
      for (const place of ['afterFence', 'afterFencingToken'] as const) {
        await writer.release()
        faultHooks[place] = crash
        await expect(claimed(log)).rejects.toThrow()
        delete faultHooks[place]
        writer = await claimed(log)
      }
      await writer.commit({ events: [sampleEvent(9)] })
      await expect.poll(() => way().connections).toBeLessThanOrEqual(atRest)
    })
  })
}

/** The error of a commit of that event; undefined if it was committed. */
function ending(writer: PollerWriter, event: NewEvent): Promise<unknown> {
  return writer.commit({ events: [event] }).then(
    () => undefined,
    (error: unknown) => error,
  )
}
