/** Shows a calendar of days, each with the shape of what is known of it; each leads to its day. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import type { DayAnswer } from '../../parts/reading-answers.ts'
import { hrefOf } from '../../shell/router.ts'
import { weeksBetween } from './calendar-weeks.ts'
import { type DayState, dayStates, itemsOf, stateOfDay } from './day-words.ts'

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
/** Weeks that are shown at first. */
const FIRST_WEEKS = 6

const dayMonth = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const dayOnly = new Intl.DateTimeFormat('en-GB', { day: 'numeric', timeZone: 'UTC' })

/** The calendar. `days`: the reports; `chosen` and `today`: dates. */
export function DayCalendar(props: {
  days: readonly DayAnswer[]
  chosen: string
  today: string
}): ComponentChildren {
  const { days, chosen, today } = props
  const [shown, setShown] = useState(FIRST_WEEKS)
  const first = [...days.map(({ date }) => date), chosen, today].sort()[0] ?? today
  const weeks = weeksBetween(first, today)
  const byDate = new Map(days.map((day) => [day.date, day]))
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': 'calendar' },
    h('h2', { id: 'calendar' }, 'Calendar'),
    h(
      'table',
      { class: 'calendar' },
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          WEEKDAYS.map((name) => h('th', { key: name, scope: 'col' }, name)),
        ),
      ),
      h(
        'tbody',
        null,
        weeks.slice(0, shown).map((week) =>
          h(
            'tr',
            { key: week[0] },
            week.map((date) => cell(date, byDate.get(date), { chosen, today, top: weeks[0]?.[0] })),
          ),
        ),
      ),
    ),
    weeks.length > shown &&
      h(
        'div',
        { class: 'buttons' },
        h(
          'button',
          { type: 'button', class: 'quiet', onClick: () => setShown(weeks.length) },
          `Show all ${weeks.length} weeks`,
        ),
      ),
    h(
      'ul',
      { class: 'calendar-legend' },
      (Object.keys(dayStates) as DayState[]).map((state) =>
        h(
          'li',
          { key: state, class: `calendar-${state}` },
          h('span', { 'aria-hidden': 'true' }, dayStates[state].shape),
          ` ${dayStates[state].word}`,
        ),
      ),
    ),
  )
}

function cell(
  date: string,
  day: DayAnswer | undefined,
  { chosen, today, top }: { chosen: string; today: string; top: string | undefined },
): ComponentChildren {
  const at = Date.parse(`${date}T00:00:00Z`)
  const isFirst = date.endsWith('-01') || date === top
  const label = (isFirst ? dayMonth : dayOnly).format(at)
  const current = date === chosen && { 'aria-current': 'date' }
  if (day === undefined || date > today)
    return h('td', { key: date, class: 'calendar-none' }, h('span', { ...current }, label))
  const state = stateOfDay(day)
  const words = `${dayMonth.format(at)}: ${dayStates[state].word}, ${itemsOf(day).toLocaleString('en-GB')} items`
  return h(
    'td',
    { key: date, class: `calendar-${state}` },
    h(
      'a',
      {
        href: hrefOf('day', date),
        title: words,
        'aria-label': words,
        ...current,
      },
      h('span', { class: 'calendar-date' }, label),
      h('span', { class: 'calendar-shape', 'aria-hidden': 'true' }, dayStates[state].shape),
    ),
  )
}
