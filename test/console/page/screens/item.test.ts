/** Tests what the screen of an item says, without a browser. */
import { expect, test } from 'vitest'
import { elapsedWords } from '../../../../src/console/page/parts/elapsed.ts'
import type {
  EventAnswer,
  EventDelivery,
  PollAnswer,
} from '../../../../src/console/page/parts/reading-answers.ts'
import {
  attemptWords,
  deliveryWords,
  streamWords,
} from '../../../../src/console/page/screens/item/delivery-words.ts'
import {
  documentsOf,
  foundRequest,
  journeyOf,
} from '../../../../src/console/page/screens/item/item-journey.ts'
import { differencesOf } from '../../../../src/console/page/screens/item/revision-differences.ts'
import { storedText } from '../../../../src/console/page/screens/item/stored-bytes.ts'

const event: EventAnswer = {
  id: 'a1',
  type: 'disclosure.published.v1',
  time: '2026-02-03T07:00:00.000Z',
  subject: 'x',
  sequence: '00000000000000001234',
  epoch: 'AbCd1234',
  cursor: 'c',
  recordedtime: '2026-02-03T07:00:01.240Z',
  data: {},
  revisions: ['a1'],
  replacedBy: null,
  topics: ['disclosures.all.v1', 'disclosures.fca.FR.v1'],
  foundBy: 'poll',
  committedTime: '2026-02-03T07:00:01.262Z',
}

test('lengths of time are as exact as their size deserves', () => {
  expect([0, 240, 1249, 41_900, 724_000, 11_520_000, 187_200_000, -240].map(elapsedWords)).toEqual([
    '0 ms',
    '240 ms',
    '1.24 s',
    '41 s',
    '12 min 4 s',
    '3 h 12 min',
    '2 d 4 h',
    '240 ms',
  ])
})

test('a journey goes from the upstream to the topics, with the time that each station took', () => {
  const stations = journeyOf(event, { logKind: 'kafka', aheadMs: 0 })
  expect(stations.map(({ title, after }) => [title, after])).toEqual([
    ['Published upstream', null],
    ['Found by a poll', '+1.24 s'],
    ['Committed', '+22 ms'],
    ['Topics', null],
  ])
  expect(stations[2]?.lines).toEqual([
    'Sequence 1,234 of epoch AbCd1234.',
    'By the clock of the Kafka broker.',
  ])
  expect(stations[3]?.lines).toEqual(['disclosures.all.v1, disclosures.fca.FR.v1.'])
  expect(journeyOf(event, { logKind: 'embedded', aheadMs: 0 })[3]?.lines[1]).toBe(
    'The log is one file here. On Kafka these topics would hold it.',
  )
})

test('each way in which an item was found has its words, also the one that is not known', () => {
  const titles = ['poll', 'fill', 'sweep', 'backfill', 'otherwise', null].map(
    (foundBy) => journeyOf({ ...event, foundBy }, { logKind: null, aheadMs: null })[1]?.title,
  )
  expect(titles).toEqual([
    'Found by a poll',
    'Found by a fill',
    'Found by a re-scan',
    'Found by the backfill',
    'Received',
    'Received',
  ])
})

test('what an older version did not store is said to be unknown', () => {
  const old = journeyOf(
    { ...event, foundBy: null, committedTime: null, topics: null },
    { logKind: 'kafka', aheadMs: 0 },
  )
  expect(old[2]).toMatchObject({ at: null, after: null })
  expect(old.flatMap(({ lines }) => lines).join(' ')).toMatch(
    /How it was found is not known.*When is not known.*Not known/,
  )
})

test('a time before the one before it is said to be by another clock', () => {
  const [, found] = journeyOf(
    { ...event, recordedtime: '2026-02-03T06:59:59.760Z' },
    { logKind: null, aheadMs: null },
  )
  expect(found?.after).toBe('240 ms before, by another clock')
})

test('the time of an upstream whose clock is far from ours counts by that clock', () => {
  const recordedtime = '2026-11-23T17:00:01.500Z'
  const aheadMs = Date.parse(event.time) - Date.parse('2026-11-23T17:00:00.000Z')
  const [published, found] = journeyOf({ ...event, recordedtime }, { logKind: null, aheadMs })
  expect(published?.lines).toEqual(['By the upstream’s clock, which is 293 d 10 h behind the bridge’s now.'])
  expect(found?.after).toBe('about +1.5 s')
  // Within a minute the clocks are taken for one.
  expect(journeyOf(event, { logKind: null, aheadMs: 900 })[1]?.after).toBe('+1.24 s')
})

test('an item that is late or stamped ahead says so', () => {
  const aheadof = '2026-02-03T06:00:00.000Z'
  const [published] = journeyOf({ ...event, late: 'true', aheadof }, { logKind: null, aheadMs: null })
  expect(published?.lines).toHaveLength(2)
})

test('a gap is not said to be published or found', () => {
  const titles = journeyOf(
    { ...event, type: 'bridge.gap.opened.v1', foundBy: null },
    { logKind: null, aheadMs: null },
  ).map(({ title }) => title)
  expect(titles).toEqual(['The gap changed', 'Noticed by the bridge', 'Committed', 'Topics'])
})

test('documents are pairs of texts; whatever else upstream sends there is left out', () => {
  const url = 'https://documents.example/a.pdf'
  expect(
    documentsOf({ publication: [{ url, mime: 'application/pdf' }, { url }, { mime: 'x' }, null, 7, 'x'] }),
  ).toEqual([
    { url, mime: 'application/pdf' },
    { url, mime: '' },
  ])
  for (const publication of [undefined, null, {}, 'x']) expect(documentsOf({ publication })).toEqual([])
})

test('differences name each member that was added, removed or changed, and nothing else', () => {
  const before = {
    headline: 'Results',
    issuer: { name: 'A', lei: '1' },
    tags: ['x', 'y'],
    same: [1, { a: 2 }],
  }
  const after = {
    headline: 'Final results',
    issuer: { name: 'A', isin: '2' },
    tags: ['y'],
    same: [1, { a: 2 }],
  }
  expect(differencesOf(before, after)).toEqual([
    { path: 'headline', before: 'Results', after: 'Final results' },
    { path: 'issuer.lei', before: '1', after: null },
    { path: 'issuer.isin', before: null, after: '2' },
    { path: 'tags[]', before: 'x', after: null },
  ])
  expect(differencesOf(before, before)).toEqual([])
  expect(differencesOf([{ code: 1 }], [{ code: 2 }])).toEqual([{ path: '[0].code', before: '1', after: '2' }])
  expect(differencesOf({ a: null }, { a: {} })).toEqual([{ path: 'a', before: 'null', after: '{}' }])
})

test('the event is cut out of the answer byte for byte', () => {
  const stored = '{"id":"a1","data":{"headline":"é\\u0041 \\" ,\\"revisions\\":[]","n":1.0e1}}'
  const details = { revisions: ['a1'], replacedBy: null, topics: ['t'], foundBy: 'poll', committedTime: null }
  const answer = `${stored.slice(0, -1)},${JSON.stringify(details).slice(1)}`
  expect(storedText(answer)).toBe(stored)
})

test('an answer that a later version builds otherwise is not passed off as what was signed', () => {
  expect(storedText('{"id":"a1","data":{},"revisions":[],"replacedBy":null,"later":1}')).toBeNull()
})

const delivery: EventDelivery = {
  endpointId: 'ep_1',
  url: 'https://receiver.example/hook',
  description: null,
  status: 'active',
  matched: true,
  state: 'delivered',
  attempts: 1,
  nextAttempt: null,
  lastStatus: 204,
  why: null,
}
const wordsOf = (change: Partial<EventDelivery>) =>
  deliveryWords({ ...delivery, ...change }, (iso) => `at ${iso.slice(11, 16)}`)

test('what became of an event at an endpoint is said with its attempts, the last answer and the next try', () => {
  expect(wordsOf({})).toEqual({
    tone: 'good',
    state: 'delivered',
    line: 'After 1 attempt; the last answer was 204.',
  })
  expect(wordsOf({ state: 'dead', attempts: 12, lastStatus: null })).toMatchObject({
    tone: 'bad',
    line: 'After 12 attempts; the last had no answer. A replay sends it again.',
  })
  const next = { state: 'pending', attempts: 3, lastStatus: 503, nextAttempt: '2026-02-03T07:05:00Z' }
  expect(wordsOf(next)).toMatchObject({
    tone: 'notice',
    line: '3 attempts so far; the last answer was 503. The next is due at 07:05.',
  })
})

test('an endpoint that did not get an event says why, and never that it was delivered', () => {
  const none = { state: null, attempts: 0, lastStatus: null }
  const filtered = {
    reason: 'filter',
    members: ['symbols', 'q'],
    detail: 'the filter leaves the event out, by the members that are named',
  }
  expect(wordsOf({ ...none, matched: false, why: filtered })).toEqual({
    tone: 'idle',
    state: 'not for it',
    line: 'Its filter leaves the event out, by symbols and q.',
  })
  const paused = { reason: 'paused', members: [], detail: 'the endpoint is paused' }
  expect(wordsOf({ ...none, state: 'pending', why: paused })).toMatchObject({
    state: 'waits',
    line: 'The endpoint is paused.',
  })
  const lost = { reason: 'no_record', members: [], detail: 'no attempt is kept' }
  expect(wordsOf({ ...none, why: lost })).toMatchObject({
    tone: 'idle',
    state: 'not known',
    line: 'No attempt is kept.',
  })
  expect(wordsOf({ ...none, state: 'asleep' })).toMatchObject({ state: 'not known' })
})

test('an attempt is said by its status and how it ended', () => {
  expect(attemptWords({ status: 204, outcome: 'ok' })).toBe('204, accepted')
  expect(attemptWords({ status: null, outcome: 'connection_refused' })).toBe('connection refused')
})

test('streams have read past an event, have not come to it, or it is not known', () => {
  expect(streamWords([], 10)).toBe('No stream is open on this node now.')
  expect(streamWords([10, 12, 9, null], 10)).toBe(
    '4 subscriptions open on this node now: 2 have read past it, 1 has not come to it yet and of 1 it is not known.',
  )
})

test('the request that brought an item is named, where it is known and the session may see it', () => {
  const request: PollAnswer = {
    at: '2026-02-03T07:00:01.100Z',
    upstreamAt: '2026-02-03T07:00:01.100Z',
    purpose: 'poll',
    newItems: 37,
    pageFull: true,
    nextAfterSeconds: 1.25,
    durationMs: 120,
  }
  // It brought others: its answer was there four seconds before the item was held.
  const before = { ...request, at: '2026-02-03T06:59:57.000Z' }
  const lost = { ...request, durationMs: null }
  const later = { ...request, at: '2026-02-03T07:00:02.300Z' }
  const empty = { ...request, at: '2026-02-03T07:00:01.200Z', newItems: 0 }
  const fill: PollAnswer = { ...request, at: '2026-02-03T07:00:01.200Z', purpose: 'fill' }
  const found = foundRequest(event, [before, request, fill, empty, later])
  expect(found).toBe(request)
  expect(foundRequest({ ...event, foundBy: 'sweep' }, [request])).toBeNull()
  expect(foundRequest({ ...event, recordedtime: '2026-02-03T08:00:00Z' }, [request])).toBeNull()
  expect(foundRequest(event, [before, lost])).toBeNull()
  const momentOf = (iso: string): string => iso.slice(11, 23)
  const [, station] = journeyOf(event, { logKind: null, aheadMs: 0, request: found, momentOf })
  expect(station?.lines.at(-1)).toBe(
    'The request of 07:00:01.100 brought 37 new items on a full page. The next poll was planned 1.25 s later.',
  )
})

test('the clocks are compared as they were when the item came, where its request is known', () => {
  const request = {
    at: '2026-11-23T17:00:01.000Z',
    upstreamAt: '2026-02-03T07:00:00.500Z',
    purpose: 'poll',
    newItems: 1,
    pageFull: false,
    nextAfterSeconds: null,
    durationMs: 400,
  } satisfies PollAnswer
  const recordedtime = '2026-11-23T17:00:01.500Z'
  // Since then the upstream's clock has jumped by ten minutes.
  const aheadMs = Date.parse(request.upstreamAt) - Date.parse(request.at) + 600_000
  const [published, found] = journeyOf({ ...event, recordedtime }, { logKind: null, aheadMs, request })
  expect(found?.after).toBe('+1 s')
  expect(published?.lines).toEqual(['By the upstream’s clock, which was 293 d 10 h behind the bridge’s.'])
})
