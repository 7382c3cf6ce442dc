import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { createReader } from '../../src/archive/reading/reader.ts'
import { RecentEvents } from '../../src/archive/reading/recent-events.ts'
import { resumeAt, resumeAtOldest } from '../../src/archive/reading/resume.ts'
import type { Archive } from '../../src/archive/store/archive.ts'
import { DAY_MS, HOUR_MS, WEEK_MS } from '../../src/core/durations.ts'
import type { NewEvent } from '../../src/core/event.ts'
import type { Log } from '../../src/log/log.ts'
import { noteRetention, runRetention } from '../../src/log-embedded/retention.ts'
import { eventWith } from '../archive/samples.ts'
import { claimed, sampleRejected } from '../log/samples.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { newestRejected } from '../support/newest-rejected.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { createLogFolders } from './logs.ts'

const folders = createLogFolders()
const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
  await folders.clean()
})

const START_MS = Date.UTC(2026, 5, 1, 6)

/** One item an hour, the n-th at START_MS + n h. */
function hourly(from: number, to: number): NewEvent[] {
  return Array.from({ length: to - from + 1 }, (_, index) =>
    eventWith(
      { headline: `Item ${from + index}` },
      `guid-${from + index}`,
      START_MS + (from + index) * HOUR_MS,
    ),
  )
}

/** A log with so many hours of items. */
async function logOf(hours: number): Promise<{ dataDir: string; log: Log; archive: Archive }> {
  const dataDir = folders.folder()
  const { log, archive } = folders.open(dataDir)
  const writer = await claimed(log)
  for (let at = 1; at <= hours; at += 500) {
    await writer.commit({ events: hourly(at, Math.min(hours, at + 499)), head: { cursor: `${at}` } })
  }
  return { dataDir, log, archive }
}

/** The retention of that archive, from `nowMs` on. */
function retaining(
  archive: Archive,
  {
    nowMs,
    beginsMs = nowMs,
    retentionMs = WEEK_MS,
  }: { nowMs: number; beginsMs?: number; retentionMs?: number },
) {
  const clock = createManualClock(nowMs)
  const { logger, lines } = keepingLogger()
  const ended = new AbortController()
  const run = runRetention({ archive, retentionMs, beginsMs, clock, logger }, ended.signal)
  stops.push(async () => {
    ended.abort()
    await run
  })
  /** Fires the timers of so long, one by one, and lets run what waits for them. */
  const pass = async (delayMs: number): Promise<void> => {
    const untilMs = clock.now() + delayMs
    for (
      let next = clock.nextTimerMs();
      next !== null && clock.now() + next <= untilMs;
      next = clock.nextTimerMs()
    ) {
      clock.advance(next)
      await setImmediate()
    }
    clock.advance(untilMs - clock.now())
    await setImmediate()
  }
  return { clock, lines, pass }
}

describe('the retention of the embedded log', () => {
  test('removes what is older in small steps, between which events are committed, and says what it removed', async () => {
    const { log, archive } = await logOf(1000)
    const writer = await claimed(log)
    const { lines, pass } = retaining(archive, { nowMs: START_MS + 1000 * HOUR_MS })
    await pass(0)
    expect(archive.oldest).toBe(101)
    await writer.commit({ events: hourly(1001, 1001), head: { cursor: 'x' } })
    await pass(10_000)
    // Recorded a second after its time: the item of 168 h ago is younger than a week.
    expect([archive.oldest, archive.latest]).toEqual([832, 1001])
    expect(lines).toEqual([
      { level: 'info', event: 'log.pruned', fields: { events: 831, rejected: 0, oldest: 832 } },
    ])
    expect(await log.oldest(new AbortController().signal)).toBe(832)
  })

  test('goes on each hour, and never removes the newest event', async () => {
    const { archive } = await logOf(300)
    const { pass } = retaining(archive, { nowMs: START_MS + 300 * HOUR_MS })
    await pass(60_000)
    expect(archive.oldest).toBe(132)
    const { archive: all } = await logOf(5)
    const other = retaining(all, { nowMs: START_MS + 5 * HOUR_MS, retentionMs: 1 })
    await other.pass(2 * HOUR_MS)
    expect([all.oldest, all.latest]).toEqual([5, 5])
  })

  test('removes nothing young while the clock of the machine is years ahead', async () => {
    const { archive } = await logOf(100)
    const { lines, pass } = retaining(archive, { nowMs: START_MS + 3 * 365 * DAY_MS })
    await pass(2 * HOUR_MS)
    expect([archive.oldest, lines]).toEqual([1, []])
  })

  test('tells a reader whose cursor is older, as the log on Kafka does, and keeps known what is left', async () => {
    const { archive } = await logOf(400)
    const [old, young] = [archive.cursorAt(100), archive.cursorAt(300)]
    const { clock, pass } = retaining(archive, { nowMs: START_MS + 400 * HOUR_MS })
    await pass(60_000)
    const reader = createReader(archive, new RecentEvents(archive.latest), clock)
    expect(resumeAt(reader, old, clock.now())).toEqual({ kind: 'too_old', oldest: archive.cursorAt(231) })
    expect(resumeAt(reader, young, clock.now())).toMatchObject({ kind: 'from', after: 300, localGap: null })
    const { after, localGap } = resumeAtOldest(reader, old, clock.now())
    expect(after).toBe(231)
    expect(JSON.parse(localGap.json.toString())).toMatchObject({
      type: 'bridge.gap.opened.v1',
      data: { cause: 'retention', from: new Date(START_MS + 100 * HOUR_MS).toISOString() },
    })
    expect([...archive.known(['guid-231', 'guid-232']).keys()]).toEqual(['guid-232'])
  })

  test('leaves a log without an event as it is', async () => {
    const { archive } = folders.open(folders.folder())
    const { lines, pass } = retaining(archive, { nowMs: START_MS })
    await pass(2 * HOUR_MS)
    expect([archive.latest, lines]).toEqual([0, []])
  })

  test('leaves a log that a later process continues with the next sequence', async () => {
    const { dataDir, log, archive } = await logOf(300)
    const { epoch } = archive
    const { pass } = retaining(archive, { nowMs: START_MS + 300 * HOUR_MS })
    await pass(60_000)
    for (const stop of stops.splice(0)) await stop()
    await log.close()
    const again = folders.open(dataDir)
    const writer = await claimed(again.log)
    const [event] = await writer.commit({ events: hourly(301, 301), head: { cursor: 'y' } })
    expect([again.archive.epoch, again.archive.oldest, event?.sequence]).toEqual([epoch, 132, 301])
  })

  test('removes rejected items of that age too, and their number stays known', async () => {
    const { log, archive } = await logOf(300)
    const writer = await claimed(log)
    const at = (hour: number) => ({
      ...sampleRejected(hour),
      recordedtime: new Date(START_MS + hour * HOUR_MS).toISOString(),
    })
    await writer.commit({ events: [], rejected: [at(1), at(2), at(299)], head: { cursor: 'r' } })
    const { lines, pass } = retaining(archive, { nowMs: START_MS + 300 * HOUR_MS })
    await pass(60_000)
    expect(lines[0]?.fields).toMatchObject({ rejected: 2 })
    expect([await newestRejected(log, 5), log.rejectedDropped?.()]).toEqual([[at(299)], 2])
  })
})

describe('a log that kept everything before', () => {
  const nowMs = START_MS + 300 * HOUR_MS

  /** As an earlier version leaves it: without the row. */
  const ofEarlier = async () => {
    const made = await logOf(300)
    made.archive.db.exec("DELETE FROM meta WHERE name = 'retention'")
    return made
  }

  test('keeps everything for a day of notice, which a restart does not prolong', async () => {
    const { archive } = await ofEarlier()
    const beginsMs = noteRetention(archive, WEEK_MS, nowMs)
    expect(beginsMs).toBe(nowMs + DAY_MS)
    expect(noteRetention(archive, WEEK_MS, nowMs + HOUR_MS)).toBe(beginsMs)
    const { lines, pass } = retaining(archive, { nowMs, beginsMs })
    await pass(DAY_MS - 1)
    expect(archive.oldest).toBe(1)
    expect(lines).toEqual([
      { level: 'warn', event: 'log.retention_begins', fields: { from: new Date(beginsMs).toISOString() } },
    ])
    await pass(HOUR_MS)
    expect(archive.oldest).toBe(132)
  })

  test('needs no notice where this version has run before, or where it is new', async () => {
    const { archive } = await ofEarlier()
    expect(noteRetention(archive, null, nowMs)).toBe(nowMs)
    expect(noteRetention(archive, WEEK_MS, nowMs + 5)).toBe(nowMs + 5)
    const { archive: empty } = folders.open(folders.folder())
    expect(noteRetention(empty, WEEK_MS, nowMs)).toBe(nowMs)
  })
})
