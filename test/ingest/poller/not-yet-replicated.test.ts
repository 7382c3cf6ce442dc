import { describe, expect, it } from 'vitest'
import { NotYetReplicated } from '../../../src/ingest/poller/not-yet-replicated.ts'
import { memoryArchive } from '../../archive/samples.ts'
import { claimed, gapOpened, sampleEvents, sampleGap } from '../../log/samples.ts'
import { createMemoryLog } from '../../support/memory-log.ts'

const guid = (n: number): string => `urn:newsml:example:${n}`

describe('items committed and not yet replicated', () => {
  it('count as known until the replica has them, and are then dropped', async () => {
    const writer = await claimed(createMemoryLog())
    const archive = memoryArchive()
    const ahead = new NotYetReplicated(archive)
    const first = await writer.commit({ events: [...sampleEvents(1, 3), gapOpened(sampleGap('g'))] })
    ahead.remember(first)
    expect([...ahead.latestOf([guid(1), guid(3), guid(9)]).keys()]).toEqual([guid(1), guid(3)])
    expect(ahead.size).toBe(3)
    archive.append(first)
    expect(ahead.latestOf([guid(1)]).get(guid(1))?.revision).toBe(1)
    const second = await writer.commit({ events: sampleEvents(4, 5) })
    ahead.remember(second)
    expect(ahead.size).toBe(2)
    ahead.clear()
    expect([...ahead.latestOf([guid(1), guid(4)]).keys()]).toEqual([guid(1)])
  })

  it('are not kept when the replica already has them', async () => {
    const writer = await claimed(createMemoryLog())
    const archive = memoryArchive()
    const ahead = new NotYetReplicated(archive)
    const events = await writer.commit({ events: sampleEvents(1, 3) })
    archive.append(events)
    ahead.remember(events)
    expect(ahead.size).toBe(0)
  })
})
