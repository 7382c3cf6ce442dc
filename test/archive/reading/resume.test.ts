import { describe, expect, it } from 'vitest'
import { resumeAt } from '../../../src/archive/reading/resume.ts'
import { NO_EPOCH } from '../../../src/archive/store/archive.ts'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { createStore, EPOCH, eventAt } from '../../support/store.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const clock = createManualClock()

describe('resuming by cursor', () => {
  it('continues just after the event of the cursor', () => {
    const { reader } = createStore(clock, 10)
    expect(resumeAt(reader, reader.cursorAt(4), 0)).toMatchObject({ kind: 'from', after: 4, localGap: null })
  })

  it('keeps a position ahead of this replica, so that a read waits for the replica', () => {
    const { reader } = createStore(clock, 10)
    const ahead = encodeCursor({ epoch: EPOCH, sequence: 15, timeMs: 1 })
    expect(resumeAt(reader, ahead, 0)).toEqual({ kind: 'from', after: 15, cursor: ahead, localGap: null })
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
