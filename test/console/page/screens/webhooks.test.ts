/** Tests what the screen of webhooks says and sends, without a browser. */
import { describe, expect, it } from 'vitest'
import { londonInput, londonMs } from '../../../../src/console/page/parts/forms/london-input.ts'
import type { EndpointAnswer } from '../../../../src/console/page/parts/managing-answers.ts'
import { curlCommand, EVENT_TYPE } from '../../../../src/console/page/screens/webhooks/curl-command.ts'
import {
  changeOf,
  creationOf,
  draftOf,
  newDraft,
  rebasedDraft,
} from '../../../../src/console/page/screens/webhooks/endpoint-draft.ts'
import {
  adviceOn,
  attemptState,
  countWords,
  endpointState,
  nextWords,
  outcomeWords,
  pendingWords,
} from '../../../../src/console/page/screens/webhooks/endpoint-words.ts'
import { urlHint } from '../../../../src/console/page/screens/webhooks/url-hints.ts'
import { attemptOutcomes } from '../../../../src/core/attempt-end.ts'
import { judgeUrl } from '../../../../src/webhooks/address/judge-url.ts'
import { addressRules } from '../../../../src/webhooks/address/rules.ts'
import { urlCases } from '../../../webhooks/address/corpus/urls.ts'

const NOW = Date.parse('2026-02-03T07:00:00Z')
const ago = (ms: number): string => new Date(NOW - ms).toISOString()
const endpoint: EndpointAnswer = {
  id: 'ep_1',
  tenant: 'desk',
  url: 'https://hooks.example/in',
  description: null,
  status: 'active',
  disabledReason: null,
  filter: { symbols: ['VOD'] },
  headers: { 'x-api-key': 'secret' },
  maxConcurrency: 8,
  rateLimit: null,
  order: 'none',
  maxBatch: null,
  start: 'cursor',
  createdAt: ago(1000),
  health: {
    ...{ pending: 0, oldestPending: null, dead: 0, forgotten: 0 },
    ...{ lastSuccess: ago(1000), failingSince: null, p50Ms: 20, p95Ms: 30 },
  },
}

describe('what is said of an endpoint', () => {
  const states: [Partial<EndpointAnswer>, Partial<EndpointAnswer['health']>, string, string][] = [
    [{}, {}, 'good', 'delivers'],
    [{}, { lastSuccess: null }, 'idle', 'nothing delivered yet'],
    [{}, { pending: 3, oldestPending: ago(2000) }, 'good', 'delivers'],
    [{}, { pending: 3, oldestPending: ago(240_000) }, 'notice', 'late by 4 min'],
    [{}, { failingSince: ago(41_000) }, 'bad', 'failing for 41 s'],
    [{}, { pending: null }, 'idle', 'not known to this node'],
    [{ status: 'paused' }, { failingSince: ago(41_000) }, 'idle', 'paused'],
    [{ status: 'disabled', disabledReason: 'gone' }, {}, 'bad', 'disabled: it answered 410'],
    [{ status: 'disabled', disabledReason: 'requested' }, {}, 'idle', 'disabled by request'],
    [{ status: 'disabled', disabledReason: 'of a newer bridge' }, {}, 'bad', 'disabled'],
  ]
  it.each(states)('%j with health %j is %s, %s', (change, health, tone, text) => {
    const shown = { ...endpoint, ...change, health: { ...endpoint.health, ...health } }
    expect(endpointState(shown, NOW)).toEqual({ tone, text })
  })

  it('counts what waits, with the age of the oldest', () => {
    const words = (pending: number | null, oldestPending: string | null): string =>
      pendingWords({ ...endpoint.health, pending, oldestPending }, NOW)
    expect(words(null, null)).toBe('–')
    expect(words(0, null)).toBe('0')
    expect(words(1200, ago(240_000))).toBe('1,200, the oldest for 4 min')
  })

  it('has words and advice for every outcome that there is', () => {
    expect(Object.keys(outcomeWords)).toEqual([...attemptOutcomes])
    for (const outcome of attemptOutcomes) {
      const advice = adviceOn({ outcome, phase: 'connect', status: null })
      expect(advice === '', outcome).toBe(outcome === 'ok')
    }
    expect(attemptState({ outcome: 'server_error', status: 503 }).text).toBe('503, receiver failed')
    expect(attemptState({ outcome: 'timeout', status: null })).toEqual({
      tone: 'bad',
      text: 'no answer in time',
    })
  })

  it('counts down to the next try, and says what a replay sends', () => {
    expect(nextWords(ago(-30_000), NOW)).toBe('in 30 s')
    expect(nextWords(ago(1), NOW)).toBe('due')
    expect(nextWords(null, NOW)).toBe('when the endpoint is enabled')
    expect(countWords(0, 0, false)).toContain('Nothing')
    expect(countWords(1, 0, false)).toBe('1 event.')
    expect(countWords(1200, 12, true)).toBe(
      'At least 1,200 events; 12 of them wait for a retry and are due at once.',
    )
  })
})

describe('a form of an endpoint', () => {
  it('sends only what differs', () => {
    const draft = draftOf(endpoint)
    expect(changeOf(draft, endpoint)).toEqual({})
    expect(changeOf({ ...draft, rateLimit: ' 5 ', description: ' the desk ' }, endpoint)).toEqual({
      rateLimit: 5,
      description: 'the desk',
    })
    expect(changeOf({ ...draft, headers: [], filter: {} }, endpoint)).toEqual({ headers: {}, filter: {} })
  })

  it('leaves what is no number to the bridge', () => {
    const draft = { ...newDraft({ q: 'results' }), url: ' https://hooks.example/ ', maxBatch: 'many' }
    expect(creationOf(draft, null)).toEqual({
      url: 'https://hooks.example/',
      description: null,
      filter: { q: 'results' },
      headers: {},
      maxConcurrency: 8,
      rateLimit: null,
      maxBatch: 'many',
      order: 'none',
    })
    expect(creationOf(draft, 'cursor')).toHaveProperty('since', 'cursor')
  })
})

it('keeps what was edited over what somebody else changed meanwhile, and names what both changed', () => {
  const original = { ...endpoint, filter: { symbols: ['VOD'] } }
  const mine = { ...draftOf(original), rateLimit: '50', description: 'mine' }
  const present = {
    ...original,
    description: 'theirs',
    url: 'https://hooks.example/new',
    filter: { q: 'bid' },
  }
  const { draft, both } = rebasedDraft(mine, original, present)
  expect(both).toEqual(['description'])
  expect(changeOf(draft, present)).toEqual({ rateLimit: 50, description: 'mine' })
  expect(draft).toMatchObject({ url: 'https://hooks.example/new', filter: { q: 'bid' } })
})

const allowing = addressRules({
  allowHttp: true,
  allowNets: ['0.0.0.0/0', '::/0'],
  ports: [443],
})

it.each([
  'https://hooks.example/in',
  'http://127.0.0.1:9000/hook?a=b',
  'https://user:word@hooks.example/',
  'https://hooks.example/#part',
  'https://hooks.example/a b',
  'ftp://hooks.example/',
  'javascript:alert(1)',
  'https://hooks.example:99999/',
  'hooks.example',
  `https://hooks.example/${'x'.repeat(2048)}`,
])('objects to a URL only where the bridge refuses it: %s', (text) => {
  expect(urlHint(text) === null).toBe(judgeUrl(text, allowing).kind === 'ok')
})

it('objects to every URL of the corpus of addresses that the bridge refuses whatever its settings, and to no other', () => {
  for (const [scheme, rest, , why] of urlCases) {
    const text = `${scheme}:${rest}`.trim()
    const verdict = judgeUrl(text, allowing)
    // Names of metadata services are refused as addresses are, which only the bridge decides.
    // The beginning of a URL is not typed to its end.
    const isBegun = 'https://'.startsWith(text)
    const isRefused = verdict.kind === 'refused' && verdict.refusal !== 'address' && !isBegun
    expect(urlHint(text) !== null, `${text.slice(0, 100)}: ${why}`).toBe(isRefused)
    if (isRefused && verdict.refusal !== 'scheme') expect(urlHint(text)).toBe(verdict.message)
  }
})

it('objects to no URL that is not typed to its end', () => {
  const typed = 'https://hooks.example/in'
  for (let length = 0; length <= typed.length; length += 1) {
    expect(urlHint(typed.slice(0, length))).toBeNull()
  }
})

it('quotes what strangers wrote for the shell, and takes hidden headers from variables', () => {
  const command = curlCommand({
    url: "https://hooks.example/'; rm -rf /; '",
    webhookId: 'msg_1',
    contentType: EVENT_TYPE,
    headers: { 'x-api-key': null, 'x-team': "o'neill" },
    body: `{"headline":"$(id) 'x'"}`,
  })
  expect(command).toContain(`curl -i 'https://hooks.example/'\\''; rm -rf /; '\\'''`)
  expect(command).toContain(`BODY='{"headline":"$(id) '\\''x'\\''"}'`)
  expect(command).toContain('-H "x-api-key: $X_API_KEY"')
  expect(command).toContain(`-H 'x-team: o'\\''neill'`)
})

it('reads times of London, in winter and in summer', () => {
  expect(londonMs('2026-02-03T07:00')).toBe(Date.parse('2026-02-03T07:00:00Z'))
  expect(londonMs('2026-07-03T07:00')).toBe(Date.parse('2026-07-03T06:00:00Z'))
  expect(londonMs('2026-10-25T01:30')).toBe(Date.parse('2026-10-25T00:30:00Z'))
  expect(londonMs('2026-03-29T01:30')).toBeNull()
  expect(londonMs('yesterday')).toBeNull()
  expect(londonInput(Date.parse('2026-07-03T06:00:59Z'))).toBe('2026-07-03T07:00')
})
