import { describe, expect, test } from 'vitest'
import { MINUTE_MS } from '../../../src/core/durations.ts'
import { BridgeError } from '../../../src/errors.ts'
import type { Journal } from '../../../src/log/journal.ts'
import { LARGEST_ROW_BYTES } from '../../../src/log/shards.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { JOURNAL_GATHER_MS, journalSink } from '../../../src/webhooks/attempts/attempt-pages.ts'
import { AttemptQueue, queueBounds } from '../../../src/webhooks/attempts/attempt-queue.ts'
import { type AttemptPage, readAttemptPage } from '../../../src/webhooks/attempts/attempt-record.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { metric } from '../../support/metric.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { attemptedOf } from '../../support/webhooks/attempted.ts'
import { answer, endpointOf, WebhookWorld } from '../../support/webhooks/webhook-world.ts'

const refused = new BridgeError('log_unavailable', 'the disk is full')

/** A journal with a scripted outcome for each page. */
function worldOf(append: (page: AttemptPage) => Promise<void> = async () => undefined, bounds = queueBounds) {
  const clock = createManualClock()
  const metrics = createMetrics({ version: '0' })
  const { logger, lines } = keepingLogger()
  const pages: AttemptPage[] = []
  /** Pages of each append. */
  const calls: number[] = []
  const port: Journal<AttemptPage> = {
    async append(together) {
      calls.push(together.length)
      for (const page of together) await append(page)
      pages.push(...together)
    },
    read: () => {
      throw new Error('nobody reads here')
    },
  }
  const queue = new AttemptQueue({
    sink: journalSink(port),
    clock,
    chance: () => 0.5,
    metrics,
    logger,
    bounds,
  })
  /** Advances the clock, and runs the work that waited for it. */
  const pass = async (ms: number, step = 50): Promise<void> => {
    for (let passed = 0; passed < ms; passed += step) {
      clock.advance(Math.min(step, ms - passed))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const written = () => pages.flatMap((page) => readAttemptPage(JSON.parse(JSON.stringify(page))).attempts)
  return {
    clock,
    metrics,
    lines,
    pages,
    calls,
    queue,
    pass,
    written,
    dropped: () => metric({ metrics }, 'webhook_journal_dropped_total'),
  }
}

const events = (lines: { event: string }[]) => lines.map(({ event }) => event)

describe('the attempt queue', () => {
  test('batches the attempts of a quarter of a second into one page, in order', async () => {
    const { queue, pages, pass, written } = worldOf()
    for (const sequence of [3, 1, 2]) queue.add(attemptedOf({ sequence }))
    expect(pages).toHaveLength(0)
    await pass(JOURNAL_GATHER_MS)
    expect(pages).toHaveLength(1)
    queue.add(attemptedOf({ sequence: 9 }))
    await pass(JOURNAL_GATHER_MS)
    expect([pages.length, written().map(({ sequence }) => sequence)]).toEqual([2, [3, 1, 2, 9]])
  })

  test('splits a burst into pages that the log accepts, whatever the responses contain, each page of one epoch', async () => {
    const { queue, pages, pass, written } = worldOf()
    const nul = String.fromCharCode(0).repeat(1024)
    for (let sequence = 1; sequence <= 3000; sequence++) {
      const isFailure = sequence % 3 === 0
      const failure = { end: answer(500), verdict: { next: 'dead' as const }, response: nul }
      queue.add(
        attemptedOf({
          sequence,
          epoch: sequence > 2000 ? 'Epoch002' : 'Epoch001',
          ...(isFailure && failure),
        }),
      )
    }
    await pass(2 * JOURNAL_GATHER_MS, 10)
    expect(written().map(({ sequence }) => sequence)).toEqual(Array.from({ length: 3000 }, (_, at) => at + 1))
    for (const { sequence, epoch } of written()) expect(epoch).toBe(sequence > 2000 ? 'Epoch002' : 'Epoch001')
    for (const page of pages) expect(JSON.stringify(page).length).toBeLessThan(LARGEST_ROW_BYTES)
  })

  test('keeps attempts that the log rejects, writes them once it accepts them, and logs each outcome once', async () => {
    let isAway = true
    const { queue, lines, pass, written } = worldOf(async () => {
      if (isAway) throw refused
    })
    queue.add(attemptedOf({ sequence: 1 }))
    await pass(MINUTE_MS, 500)
    queue.add(attemptedOf({ sequence: 2 }))
    expect(events(lines)).toEqual(['attempt_history.write_failed'])
    isAway = false
    await pass(MINUTE_MS, 500)
    expect(written().map(({ sequence }) => sequence)).toEqual([1, 2])
    expect(events(lines)).toEqual(['attempt_history.write_failed', 'attempt_history.write_recovered'])
  })

  test('drops what exceeds its limits of count and bytes, counts it, and logs one line a minute', async () => {
    for (const bounds of [
      { attempts: 10, bytes: 1e9 },
      { attempts: 1e9, bytes: 3070 },
    ]) {
      const { queue, lines, pass, dropped } = worldOf(
        () => Promise.reject(refused),
        bounds as typeof queueBounds,
      )
      for (let sequence = 1; sequence <= 15; sequence++) queue.add(attemptedOf({ sequence }))
      await pass(1000)
      for (let sequence = 16; sequence <= 30; sequence++) queue.add(attemptedOf({ sequence }))
      expect(await dropped()).toBe(10)
      expect(lines.filter(({ event }) => event === 'attempt_history.dropped')).toHaveLength(1)
      await pass(MINUTE_MS, 500)
      queue.add(attemptedOf({ sequence: 31 }))
      const said = lines.filter(({ event }) => event === 'attempt_history.dropped')
      expect(said.map(({ fields }) => fields.count)).toEqual([1, 10])
    }
  })

  test('continues after a page that the log rejects for good', async () => {
    const { queue, lines, pass, written, dropped } = worldOf(async ({ attempts }) => {
      if (attempts[0]?.sequence === 1) throw new RangeError('too large')
    })
    queue.add(attemptedOf({ sequence: 1 }))
    await pass(JOURNAL_GATHER_MS)
    queue.add(attemptedOf({ sequence: 2 }))
    await pass(JOURNAL_GATHER_MS)
    expect(written().map(({ sequence }) => sequence)).toEqual([2])
    expect([await dropped(), events(lines)]).toEqual([
      1,
      ['attempt_history.write_rejected', 'attempt_history.dropped'],
    ])
  })

  test('writes pending attempts at once when it is closed, and accepts no more', async () => {
    const { queue, written, dropped, calls } = worldOf()
    for (let sequence = 1; sequence <= 1200; sequence++) queue.add(attemptedOf({ sequence }))
    await queue.close()
    await queue.close()
    expect(written()).toHaveLength(1200)
    expect(calls).toEqual([3])
    queue.add(attemptedOf())
    expect(await dropped()).toBe(1)
  })

  test('delays a stop by at most two seconds, and logs what was lost', async () => {
    for (const append of [() => Promise.reject(refused), () => new Promise<void>(() => undefined)]) {
      const { queue, lines, pass, dropped } = worldOf(append)
      for (let sequence = 1; sequence <= 600; sequence++) queue.add(attemptedOf({ sequence }))
      let isClosed = false
      const closing = queue.close().then(() => {
        isClosed = true
      })
      await pass(1900)
      expect(isClosed).toBe(false)
      await pass(200)
      await closing
      expect(lines.filter(({ event }) => event === 'attempt_history.dropped')).toHaveLength(1)
      expect(await dropped()).toBe(600)
    }
  })
})

test('never changes an attempt or a delivery row, even if its sink refuses, hangs or is full', async () => {
  /** The receivers' requests and the stored rows over three hours of an endpoint that fails for a while. */
  const play = async (append: Journal<AttemptPage>['append'], bounds = queueBounds) => {
    const fails = ({ nowMs }: { nowMs: number }) => ({
      end: answer(nowMs % 7_200_000 < 3_600_000 ? 500 : 204),
      afterMs: 10,
    })
    const world = new WebhookWorld({
      seed: 3,
      endpoints: [endpointOf('one'), endpointOf('two')],
      scripts: { one: fails },
    })
    const { logger } = keepingLogger()
    const metrics = createMetrics({ version: '0' })
    const port: Journal<AttemptPage> = { append, read: () => Promise.reject() as never }
    const queue = new AttemptQueue({
      sink: journalSink(port),
      clock: world.clock,
      chance: () => 0.5,
      metrics,
      logger,
      bounds,
    })
    world.onAttempted = (attempted) => queue.add(attempted)
    for (let count = 0; count < 40; count++) {
      world.log.add({})
      await world.run(270_000)
    }
    await world.stop()
    expect(world.seen.length).toBeGreaterThan(90)
    return JSON.stringify([world.seen, [...world.rows].sort()])
  }
  const well = await play(async () => undefined)
  expect(await play(() => Promise.reject(refused))).toBe(well)
  expect(await play(() => new Promise(() => undefined))).toBe(well)
  expect(await play(() => Promise.reject(new BridgeError('failed', 'the log is closed')))).toBe(well)
  expect(await play(async () => undefined, { attempts: 0, bytes: 0 } as unknown as typeof queueBounds)).toBe(
    well,
  )
})
