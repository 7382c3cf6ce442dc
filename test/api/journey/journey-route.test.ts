import { expect, onTestFinished, test } from 'vitest'
import type { JourneyAnswer } from '../../../src/api/journey/journey-route.ts'
import { journeyText, type KeptJourney, withAhead } from '../../../src/archive/journeys.ts'
import { type KeptRequest, POLLS_TABLE, type PollsRow, pollsKey } from '../../../src/archive/polls.ts'
import { eventsBetween } from '../../../src/archive/reading/query.ts'
import type { NewEvent } from '../../../src/core/event.ts'
import { attemptPage } from '../../../src/webhooks/attempts/attempt-record.ts'
import { eventWith, gapAt, inPlace, START_MS } from '../../archive/samples.ts'
import { type ApiServer, startApi, TOKEN, until } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'
import { EPOCH, REPLICA } from '../../support/store.ts'
import { openStream } from '../../support/streams/ws-client.ts'
import { recordOf } from '../../support/webhooks/attempted.ts'
import { wantedEndpoint } from '../../support/webhooks/endpoints.ts'

/** An announcement of `START_MS` by upstream's clock, held so long after it. */
function heldAfter(ms: number, journey?: KeptJourney, parts: Partial<NewEvent> = {}): NewEvent {
  const { aheadMs = null, ...rest } = journey ?? {}
  return {
    ...eventWith({ fca: ['FR'] }, 'a'),
    time: new Date(START_MS).toISOString(),
    timeMs: START_MS,
    recordedtime: new Date(START_MS + ms).toISOString(),
    foundBy: 'poll',
    ...(journey && { journey: withAhead(journeyText(rest), aheadMs) }),
    ...parts,
  }
}

/** Commits the event, and shows it to readers, `ms` after it was held. */
function commit({ store, applied }: ApiServer, event: NewEvent, ms = 10): void {
  const { archive, recentEvents } = store
  const before = archive.latest
  const committedMs = Date.parse(event.recordedtime) + ms
  archive.append(inPlace([event], before + 1, EPOCH).map((one) => ({ ...one, committedMs })))
  recentEvents.push(eventsBetween(archive, before, archive.latest))
  applied.note(EPOCH, before, [before + 1, committedMs + 5])
}

async function keep(api: ApiServer, leaderSinceMs: number, ...requests: KeptRequest[]): Promise<void> {
  const [atMs] = requests[0] ?? [0]
  const row: PollsRow = { aheadMs: 0, requests, minutes: [] }
  await api.log
    .table<PollsRow>(POLLS_TABLE)
    .put(pollsKey(Math.floor(atMs / 300_000) * 300_000, leaderSinceMs, 1), row)
}

const poll = (ms: number, result: KeptRequest[2] = 'empty', plannedMs = 60_000): KeptRequest => [
  ...([START_MS + ms, 'poll', result, 0, 0, plannedMs, 80] as const),
]

const journey = async (api: ApiServer, name: number | string = 1, token = TOKEN): Promise<JourneyAnswer> =>
  (await ask(api, token, `/v1/disclosures/${encodeURIComponent(name)}/journey`)).body

test('an announcement that waited for a planned poll is late because of the plan, with each station in order', async () => {
  await using api = await startApi()
  await keep(api, 1, poll(-1000), poll(58_000, 'new'))
  commit(api, heldAfter(58_400, { requestMs: 400, sincePollMs: 58_900, plannedMs: 60_000 }))
  const { timeline, verdict, notes, ...head } = await journey(api)
  expect(head).toEqual({ id: 'a', sequence: 1, foundBy: 'poll' })
  expect(timeline.map(({ step, at, afterMs }) => [step, at && Date.parse(at) - START_MS, afterMs])).toEqual([
    ['poll_before', -1000, null],
    ['published', 0, null],
    ['requested', 58_000, 58_000],
    ['received', 58_400, 400],
    ['committed', 58_410, 10],
    ['visible', 58_415, 5],
    ['stream', null, null],
  ])
  expect(verdict).toEqual({
    late: true,
    cause: 'planned',
    spanMs: 58_000,
    totalMs: 58_415,
    text: 'Late because polls were planned every 1 min then. That took 58 s of the 58 s from its time upstream to readers of this node.',
  })
  expect(notes).toEqual([])
})

test('what was quick is not late', async () => {
  await using api = await startApi()
  commit(api, heldAfter(900, { requestMs: 400, sincePollMs: 900, plannedMs: 1000 }))
  expect((await journey(api)).verdict).toMatchObject({
    late: false,
    cause: null,
    text: 'Not late: 0.915 s from its time upstream to readers of this node.',
  })
})

test('the difference of the clocks that is kept with the event counts, not the present one', async () => {
  await using api = await startApi()
  commit(api, heldAfter(86_400_900, { requestMs: 400, aheadMs: -86_400_000 }))
  const { timeline, verdict } = await journey(api)
  expect(verdict).toMatchObject({ late: false, totalMs: 915 })
  expect(timeline[0]?.text).toBe('Its time upstream. Upstream’s clock was 1 d behind ours.')
})

test('an event of an older version says what is not kept, and is told by what is', async () => {
  await using api = await startApi()
  await keep(api, 1, poll(-1000), poll(30_000, 'throttled'))
  const { archive, recentEvents } = api.store
  const { foundBy: _, ...older } = heldAfter(58_400)
  archive.append(inPlace([older], 1, EPOCH))
  recentEvents.push(eventsBetween(archive, 0, 1))
  const { timeline, verdict, notes } = await journey(api)
  const notKept = 'this event is from before the version of the bridge that keeps it'
  expect(notes).toEqual([`Which request brought it is not kept: ${notKept}.`])
  expect(timeline.map(({ step, at }) => [step, at !== null])).toEqual([
    ['published', true],
    ['requested', false],
    ['received', true],
    ['committed', false],
    ['visible', false],
    ['stream', false],
  ])
  expect(verdict).toMatchObject({ late: true, cause: null, text: expect.stringContaining(notKept) })
})

test('a gap event tells when the bridge noticed it, and waits for no poll', async () => {
  await using api = await startApi()
  commit(api, gapAt('g', START_MS))
  const { timeline, verdict } = await journey(api, 'gap:g:opened')
  expect(timeline.map(({ step }) => step)).toEqual(['received', 'committed', 'visible', 'stream'])
  expect(verdict.late).toBe(false)
})

test('on a replica that was filled later, when readers saw the event is not kept', async () => {
  await using api = await startApi({ replica: REPLICA })
  commit(api, heldAfter(900, { requestMs: 400 }))
  api.applied.clear()
  const { timeline } = await journey(api)
  expect(timeline.at(-2)).toMatchObject({
    step: 'visible',
    at: null,
    text: expect.stringContaining('not kept'),
  })
  expect(timeline.find(({ step }) => step === 'committed')?.text).toContain('by the clock of its broker')
})

test('each attempt of the endpoints of the tenant is told, and to nobody else', async () => {
  await using api = await startApi()
  commit(api, heldAfter(900, { requestMs: 400 }))
  const committedMs = START_MS + 910
  api.clock.set(START_MS + 60_000)
  const made = await api.endpoints.create(wantedEndpoint({ tenant: 'desk' }))
  if (typeof made === 'string') throw new Error(made)
  const common = { endpointId: made.id, sequence: 1, eventId: 'a' }
  const failed = { status: 503, outcome: 'server_error', result: 'retry', dueMs: committedMs + 5000 } as const
  const records = [
    recordOf({ ...common, ...failed, attempt: 1, atMs: committedMs + 20, durationMs: 30 }),
    recordOf({ ...common, attempt: 2, atMs: committedMs + 7000, durationMs: 40 }),
  ]
  await api.attempts.append([attemptPage(EPOCH, records)])
  const kept = async () => (await ask(api, TOKEN, `/v1/webhooks/${made.id}/attempts`)).body.data
  await until(async () => (await kept()).length === 2)
  const own = await tokenOf(api, 'desk', ['events:read', 'webhooks:read'])
  const { timeline, verdict } = await journey(api, 1, own)
  const hooks = timeline.filter(({ step }) => step === 'webhook')
  expect(hooks.map(({ afterMs, text, endpointId }) => [afterMs, text, endpointId])).toEqual([
    [20, 'Webhook https://hooks.example/in, attempt 1: failed: server_error, 503, took 0.03 s.', made.id],
    [7000, 'Webhook https://hooks.example/in, attempt 2: delivered, took 0.04 s.', made.id],
  ])
  expect(verdict).toMatchObject({ late: true, cause: 'endpoint', spanMs: 7040, totalMs: 7950 })
  expect(verdict.text).toContain('the endpoint was not well: 1 attempt failed (503)')

  const blind = await journey(api, 1, await tokenOf(api, 'desk', ['events:read']))
  expect(blind.notes).toEqual(['Webhooks are shown to tokens with the scope webhooks:read.'])
  const other = await tokenOf(api, 'other', ['events:read', 'webhooks:read'])
  for (const answer of [blind, await journey(api, 1, other)]) {
    expect(JSON.stringify(answer)).not.toContain('hooks.example')
    expect(answer.verdict.late).toBe(false)
  }
})

test('the operator sees names of nodes, a tenant does not', async () => {
  await using api = await startApi()
  commit(api, heldAfter(900, { requestMs: 400 }))
  const token = await tokenOf(api, 'desk', ['events:read'])
  const named = async (by: string): Promise<boolean> =>
    JSON.stringify((await journey(api, 1, by)).timeline).includes('bridge.test:42')
  expect([await named(TOKEN), await named(token)]).toEqual([true, false])
})

test('an unknown event is not found', async () => {
  await using api = await startApi({ count: 3 })
  expect((await ask(api, TOKEN, '/v1/disclosures/9/journey')).status).toBe(404)
  expect((await ask(api, TOKEN, '/v1/disclosures/2/journey?x=1')).status).toBe(400)
})

test('live streams that an event was written to are counted for their own tenant only', async () => {
  await using api = await startApi({ count: 3 })
  const scopes = ['events:read', 'webhooks:read']
  const tokens = [await tokenOf(api, 'desk', scopes), await tokenOf(api, 'other', scopes)] as const
  const clients = await Promise.all(
    [tokens[0], tokens[0], tokens[1]].map((token) =>
      openStream({ url: api.url, auth: { authorization: `Bearer ${token}` } }),
    ),
  )
  for (const client of clients) {
    onTestFinished(() => client.webSocket.terminate())
    await client.next('hello')
    client.send({ action: 'subscribe' })
    await client.next('live')
  }
  commit(api, heldAfter(900, { requestMs: 400 }, { recordedtime: new Date(api.clock.now()).toISOString() }))
  for (const client of clients) await client.next('disclosure')
  const told = async (token: string) =>
    (await journey(api, 4, token)).timeline.find(({ step }) => step === 'stream')?.text
  expect(await told(tokens[0])).toMatch(/written to 2 live streams of yours/)
  expect(await told(tokens[1])).toMatch(/written to a live stream of yours/)
  expect(await told(TOKEN)).toMatch(/written to 3 live streams/)
  expect(await told(await tokenOf(api, 'third', scopes))).toMatch(/no live stream of yours/)
})
