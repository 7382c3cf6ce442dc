/** Lists the Kafka consumer groups that read the topics of events, with their lag and whether it grows. */
import { type ComponentChildren, h } from 'preact'
import { counted } from '../../parts/elapsed.ts'
import { ListTable } from '../../parts/lists/list-table.ts'
import { usePages } from '../../parts/lists/pages.ts'
import type { Column } from '../../parts/lists/scroll-table.ts'
import type { ConsumerAnswer } from '../../parts/managing-answers.ts'
import { ProblemNote, StateMark, type StateTone } from '../../parts/state.ts'
import { Foreign, visibleText } from '../../parts/text.ts'
import { useAnswer } from '../../shell/polling.ts'
import { useConsole } from '../../shell/services.ts'
import { lagWords } from './lag-words.ts'
import { useTrends } from './use-trends.ts'

/** Kafka is asked about each group. */
const EVERY_MS = 10_000
/** Of clusters with thousands of groups nobody asks for all at once. */
const LIMIT = 50

/** The panel. */
export function ConsumersPanel(): ComponentChildren {
  const { session } = useConsole()
  const mayRead = session.mayRead('admin')
  const pages = usePages()
  const { after } = pages
  const groups = useAnswer(mayRead ? 'GET /v1/consumers' : null, { with: { after, limit: LIMIT } }, EVERY_MS)
  const { value, atMs, problem } = groups
  const trendOf = useTrends(
    atMs,
    (value?.data ?? []).map(({ group, lagEvents }) => [group, lagEvents] as const),
  )
  return h(
    'section',
    { class: 'panel panel-wide', 'aria-label': 'Consumer groups' },
    h('h2', null, 'Kafka consumer groups'),
    !mayRead && h('p', { class: 'hint' }, 'Consumer groups are shown to sessions with BRIDGE_ADMIN_TOKEN.'),
    problem !== null && h(ProblemNote, { problem }),
    value?.reason != null && h('p', { class: 'hint' }, visibleText(value.reason)),
    value !== null &&
      value.data.length === 0 &&
      value.reason === null &&
      h('p', null, 'No consumer group has a position in the topics of events.'),
    value !== null && value.data.length > 0 && h(GroupTable, { groups: value.data, trendOf }),
    pages.buttons(value?.next ?? null, { back: 'Groups before', on: 'More groups' }),
  )
}

const states: Readonly<Record<string, readonly [StateTone, string]>> = {
  stable: ['good', 'reading'],
  rebalancing: ['notice', 'rebalancing'],
  empty: ['idle', 'nobody reads'],
}

function GroupTable({
  groups,
  trendOf,
}: {
  groups: readonly ConsumerAnswer[]
  trendOf: (name: string) => string
}): ComponentChildren {
  return h(ListTable, {
    label: 'List of consumer groups',
    columns,
    rows: groups.map((group) => ({ key: group.group, cells: cellsOf(group, trendOf(group.group)) })),
  })
}

const columns: readonly Column[] = [
  { name: 'Group' },
  { name: 'State' },
  { name: 'Lag' },
  { name: 'Trend', kind: 'word' },
  { name: 'Topics' },
]

function cellsOf(group: ConsumerAnswer, trend: string): ComponentChildren[] {
  const [tone, word] = states[group.state ?? ''] ?? ['idle', 'state not known']
  const lag = lagWords(group)
  const { members } = group
  return [
    h(Foreign, { text: group.group, class: 'clip code' }),
    [
      h(StateMark, { tone }, word),
      members !== null && members > 0 && h('div', { class: 'soft' }, counted(members, 'consumer')),
    ],
    h(StateMark, { tone: lag.tone }, lag.text),
    trend === '' ? '–' : trend,
    h(Topics, { topics: group.topics }),
  ]
}

function Topics({ topics }: Pick<ConsumerAnswer, 'topics'>): ComponentChildren {
  const list = h(
    'ul',
    { class: 'plain' },
    topics.map((one) =>
      h('li', { key: one.topic }, h(Foreign, { text: one.topic, class: 'code' }), ': ', lagWords(one).text),
    ),
  )
  if (topics.length < 2) return list
  return h('details', null, h('summary', null, counted(topics.length, 'topic')), list)
}
