/** Lists the streams that are open on the node that answers: what each reads, how far it is, whether its client is slow. */
import { type ComponentChildren, h } from 'preact'
import { filterWords } from '../../parts/filter/filter-values.ts'
import { ListTable } from '../../parts/lists/list-table.ts'
import type { Column } from '../../parts/lists/scroll-table.ts'
import type { StreamAnswer, SubscriptionAnswer } from '../../parts/managing-answers.ts'
import { StateMark } from '../../parts/state.ts'
import { Foreign, visibleText } from '../../parts/text.ts'
import { inWholeSeconds, Moment, millisOf } from '../../parts/times.ts'
import { useNow } from '../../shell/services.ts'
import { lagWords } from './lag-words.ts'

/** What the table shows. */
export interface StreamTableProps {
  streams: readonly StreamAnswer[]
  trendOf: (id: string) => string
  /** Whether the reader may end this stream. */
  mayEnd: (stream: StreamAnswer) => boolean
  onEnd: (stream: StreamAnswer) => void
}

const transports: Readonly<Record<string, string>> = { ws: 'WebSocket', sse: 'server-sent events' }

/** How a stream is carried, in words. */
export function transportWords(transport: string): string {
  return transports[transport] ?? transport
}

const count = new Intl.NumberFormat('en-GB')

const columns: readonly Column[] = [
  { name: 'Opened by' },
  { name: 'Since', kind: 'word' },
  { name: 'Filter' },
  { name: 'Position', kind: 'number' },
  { name: 'Lag' },
  { name: 'Client' },
  { name: 'Sent', kind: 'number' },
  { name: 'Actions', kind: 'actions' },
]

/** The table. */
export function StreamTable({ streams, ...rest }: StreamTableProps): ComponentChildren {
  return h(ListTable, {
    label: 'List of open streams',
    columns,
    rows: streams.map((stream) => ({ key: stream.id, cells: cellsOf(stream, rest) })),
  })
}

function cellsOf(
  stream: StreamAnswer,
  { trendOf, mayEnd, onEnd }: Omit<StreamTableProps, 'streams'>,
): ComponentChildren[] {
  const { id, token, openedAt, slowSince, eventsSent, subscriptions } = stream
  const each = (cell: (one: SubscriptionAnswer) => ComponentChildren): ComponentChildren =>
    subscriptions.length === 0
      ? '–'
      : subscriptions.map((one, index) => h('div', { key: one.id ?? index }, cell(one)))
  const trend = trendOf(id)
  return [
    h(OpenedBy, { stream }),
    h(Moment, { iso: openedAt }),
    each((one) => h(FilterCell, { subscription: one })),
    each(({ sequence }) => (sequence === null ? '–' : count.format(sequence))),
    [
      each((one) => {
        const lag = lagWords(one)
        return h(StateMark, { tone: lag.tone }, one.live ? lag.text : `${lag.text}, catching up`)
      }),
      trend !== '' && h('div', { class: 'soft' }, trend),
    ],
    h(Slowness, { slowSince }),
    count.format(eventsSent),
    mayEnd(stream) &&
      h(
        'button',
        {
          type: 'button',
          class: 'danger',
          'aria-label': `End the stream of ${token?.name ?? token?.id ?? 'nobody'}`,
          onClick: () => onEnd(stream),
        },
        'End',
      ),
  ]
}

function OpenedBy({
  stream: { token, tenant, transport, remoteAddress },
}: {
  stream: StreamAnswer
}): ComponentChildren {
  return [
    token === null
      ? h(StateMark, { tone: 'notice' }, 'nobody yet: it has not authenticated')
      : h(Foreign, { text: token.name ?? token.id, class: 'clip' }),
    h(
      'div',
      { class: 'soft' },
      tenant === null ? '' : [h(Foreign, { text: tenant }), ', '],
      transportWords(transport),
      remoteAddress === null ? '' : [', ', h(Foreign, { text: remoteAddress })],
    ),
  ]
}

function FilterCell({
  subscription: { id, filter },
}: {
  subscription: SubscriptionAnswer
}): ComponentChildren {
  const words = filterWords(filter)
  return [
    id === null ? '' : [h(Foreign, { text: id, class: 'code' }), ': '],
    words.length === 0
      ? 'everything'
      : h('bdi', { class: 'clip', title: visibleText(words.join('; ')) }, visibleText(words.join('; '))),
  ]
}

function Slowness({ slowSince }: Pick<StreamAnswer, 'slowSince'>): ComponentChildren {
  const nowMs = useNow()
  const sinceMs = millisOf(slowSince)
  if (sinceMs === null) return h(StateMark, { tone: 'good' }, 'takes everything')
  return h(StateMark, { tone: 'notice' }, `slow for ${inWholeSeconds(nowMs - sinceMs)}`)
}
