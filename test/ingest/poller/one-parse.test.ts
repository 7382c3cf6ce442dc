/** The parsed form of an item travels with its text, from the page to the archive. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { contentHash } from '../../../src/core/disclosure.ts'
import { publish } from '../../../src/ingest/machine/publish.ts'
import { initialState, type StepContext } from '../../../src/ingest/machine/state.ts'
import { NotYetReplicated } from '../../../src/ingest/poller/not-yet-replicated.ts'
import { readItems } from '../../../src/ingest/poller/read-page.ts'
import { PollerWriter } from '../../../src/ingest/writer-state/poller-writer.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { atOnce } from '../../../src/lifecycle/slices.ts'
import { openSqliteLog } from '../../../src/log-embedded/log.ts'
import { namedTopics } from '../../../src/log-kafka/topics/topics.ts'
import { readPage } from '../../../src/upstream/page.ts'

const item = {
  guid: 'urn:one',
  timestamp: '2026-01-06T07:00:00Z',
  rnsId: '1234A',
  headline: 'One',
  issuer: { name: 'Alpha' },
  category: [{ kind: 'FCA', code: 'REN' }],
}

test('the leader parses a response once and no item again; the archive equals one built from the text', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'one-parse-'))
  const { log, archive } = openSqliteLog({ dataDir, nativeKind: 'Native', clock: systemClock })
  onTestFinished(async () => {
    vi.restoreAllMocks()
    await log.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const { signal } = new AbortController()
  const writer = new PollerWriter(await log.claim(await log.campaign(signal), signal))
  const ahead = new NotYetReplicated({ latest: 0, known: () => new Map() })
  const parsed = vi.spyOn(JSON, 'parse')
  const answer = atOnce(readPage(JSON.stringify({ data: [item], meta: { paging: { nextCursor: null } } })))
  if (!answer.ok) throw new Error(answer.reason)
  const never = (): boolean => false
  const { fresh } = atOnce(readItems(answer.value, (guids) => ahead.latestOf(guids), never, never, 0))
  const config = { rounds: null, calendar: createCalendar() }
  const context = { state: initialState(), actions: [], config, nowMs: 0 } as unknown as StepContext
  publish(context, { purpose: 'poll', items: fresh })
  const [queued] = context.state.queue
  const events = await writer.commit(queued?.commit ?? { events: [] })
  ahead.remember(events)
  expect(events.flatMap((event) => namedTopics(event, 'Native'))).toEqual(['fca.REN'])
  expect(parsed.mock.calls.filter(([text]) => text.includes('urn:one'))).toHaveLength(1)
  vi.restoreAllMocks()

  const hash = contentHash(item)
  expect(ahead.latestOf(['urn:one']).get('urn:one')).toMatchObject({ revision: 1, hash })
  expect(archive.known(['urn:one']).get('urn:one')).toEqual({ revision: 1, hash })
  const dateId = archive.db.prepare<{ date_id: string }>('SELECT date_id FROM facts').get()?.date_id
  expect(dateId).toBe('2026-01-06.1234A')
})
