/**
 * Shows the weekly quota and how polls are planned: what is spent and left, a day with items expected and arrived and polls
 * planned and made, units against an even pace, and what other plans would give.
 */
import { type ComponentChildren, h } from 'preact'
import type { QuotaAnswer } from '../../../../api/operations/quota-route.ts'
import { Chart } from '../../parts/chart/chart.ts'
import { Freshness } from '../../parts/freshness.ts'
import { ProblemNote, StateMark, type StateTone } from '../../parts/state.ts'
import { clockOf, shortMoment } from '../../parts/times.ts'
import type { ScreenProps } from '../../shell/navigation.ts'
import { useAnswer } from '../../shell/polling.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole, useTitle } from '../../shell/services.ts'
import { dateWords, shifted } from '../day/calendar-weeks.ts'
import { PlanComparison } from './plan-comparison.ts'
import { PurposeTable } from './purpose-table.ts'
import { itemLayers, itemsSummary, quotaSlots, unitLayers, unitsSummary } from './quota-charts.ts'
import { type QuotaState, quotaSentences, quotaState, quotaStates } from './quota-words.ts'

/** The answer has a whole day; a slot of it has five minutes. */
const EVERY_MS = 15_000
const CHART_EVERY_MS = 30_000

const tones: Readonly<Record<QuotaState, StateTone>> = {
  enough: 'good',
  tight: 'notice',
  spent: 'bad',
  unknown: 'idle',
}

/** The screen. `date` in the query is the day that is shown; without it today. */
export function QuotaScreen({ route, session }: ScreenProps): ComponentChildren {
  useTitle('Quota')
  const mayAsk = session.mayRead('admin')
  const date = route.query.get('date')
  const quota = useAnswer(mayAsk ? 'GET /v1/quota' : null, { with: { date } }, EVERY_MS)
  const answer = quota.value
  return h(
    'div',
    { class: 'stack' },
    h(
      'header',
      { class: 'screen-head' },
      h('h1', null, 'Quota'),
      h(Freshness, { atMs: quota.atMs, everyMs: EVERY_MS }),
    ),
    !mayAsk && h(NotAllowed, null),
    quota.problem !== null && h(ProblemNote, { problem: quota.problem }),
    mayAsk &&
      answer === null &&
      quota.problem === null &&
      h('p', { 'aria-busy': 'true' }, 'Asking the leader …'),
    answer !== null && h(Standing, { answer }),
    answer !== null && h(Day, { key: answer.date, answer }),
    answer !== null && h(PlanComparison, { present: answer.plan.name }),
  )
}

/** For readers: what the status says of the quota, which every token may see. */
function NotAllowed(_: object): ComponentChildren {
  const { status } = useConsole()
  const reported = status.reported.get().status
  const { used, limit } = reported?.quota ?? { used: null, limit: null }
  return h(
    'div',
    { class: 'note' },
    h(
      'p',
      null,
      'How units are spent and planned is shown to tokens with the scope admin. The token of this session has not got it.',
    ),
    used !== null &&
      limit !== null &&
      h(
        'p',
        null,
        `What every token may see: ${used.toLocaleString('en-GB')} of ${limit.toLocaleString('en-GB')} units are spent.`,
      ),
  )
}

function Standing({ answer }: { answer: QuotaAnswer }): ComponentChildren {
  const state = quotaState(answer.quota)
  const nowMs = Date.parse(answer.asOf)
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': 'week' },
    h('h2', { id: 'week' }, `The week on plan ${answer.plan.name}`),
    h('p', null, h(StateMark, { tone: tones[state] }, quotaStates[state])),
    h(
      'ul',
      { class: 'plain' },
      quotaSentences(answer, (iso) => shortMoment(Date.parse(iso), nowMs)).map((sentence) =>
        h('li', { key: sentence }, sentence),
      ),
    ),
    h(PurposeTable, { units: answer.weekUnits, limit: answer.plan.weeklyQuota }),
  )
}

function Day({ answer }: { answer: QuotaAnswer }): ComponentChildren {
  const { session } = useConsole()
  const { date } = answer
  const every = answer.planned === null ? null : CHART_EVERY_MS
  const arrivals = useAnswer(
    session.mayRead('events:read') ? 'GET /v1/arrivals' : null,
    { with: { date } },
    every,
  )
  const polls = useAnswer('GET /v1/polls', { with: { date } }, every)
  const nowMs = Date.parse(answer.asOf) + (answer.upstreamAheadMs ?? 0)
  const chart = { slots: quotaSlots(answer), slotWords, nowMs }
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': 'quota-day' },
    h(
      'div',
      { class: 'head-row' },
      h('h2', { id: 'quota-day' }, dateWords(date)),
      h(
        'nav',
        { 'aria-label': 'Other days' },
        h('a', { href: hrefOf('quota', null, { date: shifted(date, -1) }) }, '← Day before'),
        h('a', { href: hrefOf('quota', null, { date: shifted(date, 1) }) }, 'Day after →'),
        h('a', { href: hrefOf('quota') }, 'Today'),
        h('a', { href: hrefOf('day', date) }, 'What arrived'),
      ),
    ),
    h(Chart, {
      ...chart,
      title: 'Items and polls',
      summary: itemsSummary(answer, arrivals.value),
      layers: itemLayers(answer, arrivals.value, polls.value),
    }),
    arrivals.problem !== null &&
      h('p', { class: 'hint' }, `${missing('Arrivals', arrivals)}: ${arrivals.problem.detail}`),
    polls.problem !== null &&
      h('p', { class: 'hint' }, `${missing('Polls made', polls)}: ${polls.problem.detail}`),
    h(Chart, {
      ...chart,
      title: 'Units spent since midnight',
      summary: unitsSummary(answer),
      layers: unitLayers(answer),
    }),
  )
}

function missing(what: string, { value }: { value: unknown }): string {
  return value === null ? `${what} are not shown` : `${what} may be missing at the end`
}

function slotWords({ fromMs, toMs }: { fromMs: number; toMs: number }): string {
  return `${clockOf(fromMs)}–${clockOf(toMs)}`
}
