import { describe, expect, it } from 'vitest'
import { resumeAt } from '../../../src/archive/reading/resume.ts'
import { NO_EPOCH } from '../../../src/archive/store/archive.ts'
import { writeEarlierEpochs } from '../../../src/archive/store/earlier-epochs.ts'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { createStore, EPOCH, eventAt, REPLICA } from '../../support/store.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const clock = createManualClock()

describe('resuming by cursor', () => {
  it('continues just after the event of the cursor', () => {
    const { reader } = createStore(clock, 10)
    expect(resumeAt(reader, reader.cursorAt(4), 0)).toMatchObject({ kind: 'from', after: 4, localGap: null })
  })

  it('keeps a position ahead of this replica, so that a read waits for the replica', () => {
    const { reader } = createStore(clock, 10, 1, EPOCH, REPLICA)
    const ahead = encodeCursor({ epoch: EPOCH, sequence: 15, timeMs: 1 })
    expect(resumeAt(reader, ahead, 0)).toEqual({ kind: 'from', after: 15, cursor: ahead, localGap: null })
  })

  it('takes a cursor for one of another history where nothing can be ahead, or where its time differs', () => {
    const own = createStore(clock, 8000).reader
    const replica = createStore(clock, 8000, 1, EPOCH, REPLICA).reader
    const { timeMs } = eventAt(5000)
    const cases = [
      { reader: own, sequence: 8001 },
      { reader: own, sequence: 7000 },
      { reader: replica, sequence: 7000 },
    ]
    for (const { reader, sequence } of cases) {
      const resume = resumeAt(reader, encodeCursor({ epoch: EPOCH, sequence, timeMs }), 0)
      if (resume.kind !== 'from') throw new Error('too old')
      expect(resume.after).toBe(5000 - 3600 - 1)
      expect(JSON.parse(String(resume.localGap?.json))).toMatchObject({ data: { cause: 'epoch' } })
    }
  })

  it('starts a reader of an epoch before a restore no later than the first event that its log did not have', () => {
    const { reader, archive } = createStore(clock, 8000)
    const earlier = { through: 6000, epochs: { Another1: 6000, Before01: 3000, Pruned01: 0 } }
    archive.transaction(() => writeEarlierEpochs(archive.db, earlier))
    const startOf = (epoch: string, atSequence: number) => {
      const { timeMs } = eventAt(atSequence)
      const resume = resumeAt(reader, encodeCursor({ epoch, sequence: 9999, timeMs }), 0)
      if (resume.kind !== 'from') throw new Error('too old')
      const { data } = JSON.parse(String(resume.localGap?.json)) as { data: { from: string } }
      return { after: resume.after, from: Date.parse(data.from) }
    }
    const hourBefore = { after: 5000 - 3600 - 1, from: eventAt(5000 - 3600).timeMs }
    expect(startOf('Another1', 5000)).toEqual(hourBefore)
    const kept = { after: 6000, from: eventAt(6001).timeMs }
    expect(startOf('Another1', 20_000)).toEqual(kept)
    expect(startOf('Unknown1', 20_000)).toEqual(kept)
    expect(startOf('Before01', 20_000)).toEqual({ after: 3000, from: eventAt(3001).timeMs })
    expect(startOf('Pruned01', 5000)).toEqual({ after: 0, from: eventAt(1).timeMs })
  })

  it('rejects a cursor older than the retained events and returns the oldest usable cursor', () => {
    const { reader } = createStore(clock, 10, 101)
    const resume = resumeAt(reader, encodeCursor({ epoch: EPOCH, sequence: 99, timeMs: 1 }), 0)
    expect(resume).toEqual({ kind: 'too_old', oldest: reader.cursorAt(100) })
    expect(resumeAt(reader, reader.cursorAt(100), 0)).toMatchObject({ kind: 'from', after: 100 })
  })

  it('starts an hour before the time of a cursor of another epoch, after a gap event of this node', () => {
    const { reader } = createStore(clock, 8000)
    const other = encodeCursor({ epoch: 'Another1', sequence: 7000, timeMs: eventAt(5000).timeMs })
    const resume = resumeAt(reader, other, eventAt(9000).timeMs)
    if (resume.kind !== 'from' || resume.localGap === null) throw new Error('no localGap')
    expect(resume.after).toBe(5000 - 3600 - 1)
    const localGap = JSON.parse(resume.localGap.json.toString()) as {
      type: string
      data: { cause: string; from: string; to: string }
      cursor: string
    }
    expect(localGap.type).toBe('bridge.gap.opened.v1')
    expect(localGap.data).toMatchObject({
      cause: 'epoch',
      from: new Date(eventAt(5000).timeMs - 3_600_000).toISOString(),
      to: new Date(eventAt(9000).timeMs).toISOString(),
    })
    expect(resumeAt(reader, localGap.cursor, 0)).toMatchObject({ after: resume.after, localGap: null })
  })

  it('starts at the oldest event, after a gap event, for a cursor made while the replica was empty', () => {
    const { reader } = createStore(clock, 10)
    const between = encodeCursor({ epoch: NO_EPOCH, sequence: 7, timeMs: 0 })
    const resume = resumeAt(reader, between, 0)
    expect(resume).toMatchObject({ kind: 'from', after: 0 })
    expect(resume.kind === 'from' && String(resume.localGap?.json)).toContain('"cause":"epoch"')
    expect(resumeAt(reader, encodeCursor({ epoch: NO_EPOCH, sequence: 0, timeMs: 0 }), 0)).toMatchObject({
      after: 0,
      localGap: null,
    })
  })

  it('accepts a cursor of another epoch with any time that a cursor can contain', () => {
    const { reader } = createStore(clock, 10)
    for (const timeMs of [-8.64e15, 8.64e15]) {
      const other = encodeCursor({ epoch: 'Another1', sequence: 1, timeMs })
      expect(resumeAt(reader, other, 0)).toMatchObject({ kind: 'from' })
    }
  })

  it('rejects a malformed cursor', () => {
    const { reader } = createStore(clock, 1)
    expect(() => resumeAt(reader, 'rubbish', 0)).toThrow('not a cursor of this bridge')
  })
})
