/** The overview says in words whether the bridge works, whether anything is missing and how late it is. */
import { expect, test } from 'vitest'
import { glanceOf, isOldNews, overallTone } from '../../../src/console/page/parts/glance/glance-words.ts'
import type { StatusAnswer } from '../../../src/console/page/shell/answers.ts'
import type { Reported } from '../../../src/console/page/shell/status-watch.ts'

const NOW = Date.parse('2026-11-23T09:00:00Z')
const at = (seconds: number): string => new Date(NOW + seconds * 1000).toISOString()

const well: StatusAnswer = {
  leader: { id: 'host:1', since: at(-3600), self: true },
  upstream: { state: 'ok', lastGoodPoll: at(-3), nextPoll: at(4), phase: 'open', aheadMs: 0 },
  quota: { limit: 3500, used: 10, remaining: 3490, reset: at(90_000), forecast: 0.9, drift: null },
  log: { kind: 'embedded', epoch: 'Hx9CTJZ9', oldest: 1, latest: 900 },
  copy: { sequence: 900, lagEvents: 0, lagSeconds: 0, filled: 1 },
  completeness: '+day',
  unreconciled: [],
  gaps: [],
  roles: ['poller'],
  asOf: at(-1),
}

function glance(changes: Partial<StatusAnswer>, more: Partial<Reported> = {}) {
  const reported = {
    status: { ...well, ...changes },
    atMs: NOW,
    problem: null,
    failingSinceMs: null,
    ...more,
  }
  return glanceOf(reported, NOW)
}

test('a bridge that polls is working, and nothing is missing', () => {
  const { working, missing } = glance({})
  expect(working).toEqual({
    tone: 'good',
    answer: 'Yes',
    detail: 'Polling: last good answer 3 s ago, the next in 4 s.',
  })
  expect(missing).toMatchObject({ tone: 'good', answer: 'No' })
  expect(missing.detail).toContain('Every day was read a second time')
  expect(overallTone(glance({}))).toBe('good')
})

test('a planned silence is said to be planned', () => {
  const { working } = glance({ upstream: { ...well.upstream, nextPoll: at(3 * 3600) } })
  expect(working).toMatchObject({ tone: 'good', answer: 'Yes, at rest' })
  expect(working.detail).toContain('Silence until 12:00:00 is planned (3 h 00 min)')
})

test.each([
  ['quota', 'bad', 'Quota spent'],
  ['unauthorised', 'bad', 'Key refused'],
  ['failing', 'bad', 'Upstream fails'],
  ['throttled', 'notice', 'Slowed down'],
  ['waiting', 'idle', 'Starting'],
  [null, 'idle', 'Not known'],
] as const)('upstream state %s is %s: %s', (state, tone, answer) => {
  expect(glance({ upstream: { ...well.upstream, state } }).working).toMatchObject({ tone, answer })
})

test('a missed poll, a silent leader, no leader and a bridge that is gone are not called working', () => {
  expect(glance({ upstream: { ...well.upstream, nextPoll: at(-60) } }).working.answer).toBe('Poll overdue')
  expect(glance({ asOf: at(-90) }).working.answer).toBe('Leader silent')
  expect(glance({ leader: { id: null, since: null, self: false } }).working.answer).toBe('Nobody polls')
  const problem = {
    kind: 'unreachable',
    status: null,
    code: null,
    detail: 'gone',
    hint: null,
    errors: [],
    retryInMs: null,
  } as const
  const gone = glance({}, { problem, failingSinceMs: NOW - 5000 })
  expect(gone.working).toEqual({ tone: 'bad', answer: 'No answer', detail: 'gone' })
  expect(overallTone(gone)).toBe('bad')
})

test('open gaps are what may be missing, and what is not known is not called complete', () => {
  const gap = {
    id: 'a',
    from: at(-60),
    to: at(-51),
    cause: 'overflow',
    openedAt: at(-50),
    found: 0,
    closedAt: null,
  }
  const { missing } = glance({ gaps: [gap, gap] })
  expect(missing).toMatchObject({ tone: 'bad', answer: 'Maybe: 2 gaps' })
  expect(missing.detail).toContain('Between 08:59:00 and 08:59:09 announcements may be missing')
  expect(glance({ gaps: null }).missing.answer).toBe('Not known')
  expect(glance({ copy: { ...well.copy, filled: 0.42 } }).missing.detail).toContain('42 % is here')
})

const facts = { delays: null, delaysProblem: null, givenUp: [], givenUpProblem: null }
const delays = { count: 90, medianMs: 1400, mostMs: 6000, older: 10 }
const away = {
  kind: 'unreachable',
  status: null,
  code: null,
  detail: 'gone',
  hint: null,
  errors: [],
  retryInMs: null,
} as const

test('the delay is that of the newest announcements, and looked-up ones do not count', () => {
  const reported = { status: well, atMs: NOW, problem: null, failingSinceMs: null }
  const late = (changes: Partial<typeof delays>) =>
    glanceOf(reported, NOW, { ...facts, delays: { ...delays, ...changes } }).late
  expect(late({})).toMatchObject({ tone: 'good', answer: '1.4 s' })
  expect(late({ medianMs: 300_000 })?.tone).toBe('notice')
  expect(late({ mostMs: 20 * 60_000 })?.tone).toBe('notice')
  expect(late({ count: 0, older: 5 })?.answer).toBe('Not known yet')
})

test.each<[string, Partial<StatusAnswer>, Partial<Reported>, string]>([
  ['the bridge does not answer', {}, { problem: away, atMs: NOW - 60_000 }, '08:59:00'],
  ['nobody polls', { leader: { id: null, since: null, self: false } }, {}, '08:59:57'],
  ['the leader is silent', { asOf: at(-90) }, {}, '08:59:57'],
  [
    'a poll is overdue',
    { upstream: { ...well.upstream, lastGoodPoll: at(-70), nextPoll: at(-60) } },
    {},
    '08:58:50',
  ],
  ...(['failing', 'quota', 'unauthorised', 'throttled'] as const).map(
    (state): [string, Partial<StatusAnswer>, Partial<Reported>, string] => [
      `upstream is ${state}`,
      { upstream: { ...well.upstream, state, lastGoodPoll: at(-70) } },
      {},
      '08:58:50',
    ],
  ),
])('while %s, neither completeness nor delay is called good', (_, changes, more, since) => {
  const reported = {
    status: { ...well, ...changes },
    atMs: NOW,
    problem: null,
    failingSinceMs: null,
    ...more,
  }
  const { missing, late } = glanceOf(reported, NOW, { ...facts, delays })
  for (const one of [missing, late]) {
    expect(one).toMatchObject({ tone: 'notice', answer: `Not known since ${since}` })
  }
  expect(missing.detail).toContain('No gap was open then.')
  expect(late?.detail).toContain('Before that: Half of the newest 90')
})

test('before the first good poll nothing is called complete', () => {
  const { missing } = glance({ upstream: { ...well.upstream, state: 'waiting', lastGoodPoll: null } })
  expect(missing).toMatchObject({ tone: 'idle', answer: 'Not known yet' })
})

test('a planned silence is no reason to doubt: what was published until then is known', () => {
  const upstream = { ...well.upstream, lastGoodPoll: at(-7200), nextPoll: at(3600) }
  expect(glance({ upstream }).missing.tone).toBe('good')
})

test('a gap that was given up stays counted, and stays after it was closed no more', () => {
  const reported = { status: well, atMs: NOW, problem: null, failingSinceMs: null }
  const lost = { from: '2025-11-20T07:00:00Z', to: '2025-11-20T07:00:09Z' }
  const { missing } = glanceOf(reported, NOW, { ...facts, givenUp: [lost] })
  expect(missing).toMatchObject({ tone: 'notice', answer: 'For good: 1 gap' })
  expect(missing.detail).toMatch(
    /^No gap is open\. Between Thu 20 Nov 2025 07:00:00 and Thu 20 Nov 2025 07:00:09 announcements may be missing for good/,
  )
  expect(glanceOf(reported, NOW, { ...facts, givenUp: [] }).missing.tone).toBe('good')
})

test('where the newest announcements cannot be read, the delay is not called good', () => {
  const reported = { status: well, atMs: NOW, problem: null, failingSinceMs: null }
  const { late } = glanceOf(reported, NOW, {
    ...facts,
    delays,
    delaysProblem: { detail: 'too many requests' },
  })
  expect(late).toMatchObject({ tone: 'notice', answer: 'Not known' })
  expect(late?.detail).toMatch(/too many requests.*Before that: Half/)
})

test('what was not asked meanwhile is not blamed on the bridge: a tab that was hidden comes back', () => {
  const reported = { status: well, atMs: NOW, problem: null, failingSinceMs: null }
  const anHourLater = NOW + 3_600_000
  const { working, missing, late } = glanceOf(reported, anHourLater, { ...facts, delays })
  expect([working.answer, missing.answer, late?.answer]).toEqual(['Yes', 'No', '1.4 s'])
  expect(overallTone(glanceOf(reported, anHourLater))).toBe('good')
  expect(isOldNews(reported, anHourLater)).toBe(false)
})

test('what the status says of gaps and upstream is old news while the bridge or its leader is silent', () => {
  const reported = { status: well, atMs: NOW, problem: null, failingSinceMs: null }
  expect(isOldNews(reported, NOW)).toBe(false)
  expect(isOldNews({ ...reported, problem: away }, NOW)).toBe(true)
  expect(isOldNews({ ...reported, status: { ...well, asOf: at(-90) } }, NOW)).toBe(true)
})

test('while it is not known which gaps were given up, nothing is called complete', () => {
  const reported = { status: well, atMs: NOW, problem: null, failingSinceMs: null }
  const missing = (givenUpProblem: { detail: string } | null) =>
    glanceOf(reported, NOW, { ...facts, givenUp: null, givenUpProblem }).missing
  expect(missing(null)).toMatchObject({ tone: 'idle', answer: 'Asking' })
  expect(missing({ detail: 'too many requests' })).toEqual({
    tone: 'idle',
    answer: 'Not known',
    detail: 'No gap is open. Gaps that were given up are not known: too many requests',
  })
})
