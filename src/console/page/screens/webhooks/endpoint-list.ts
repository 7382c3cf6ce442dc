/** Lists the webhook endpoints with their health: what waits, what was given up, when the last delivery succeeded. */
import { type ComponentChildren, h } from 'preact'
import { filterWords } from '../../parts/filter/filter-values.ts'
import { type Changes, ChangesNote } from '../../parts/forms/changes.ts'
import { ListTable } from '../../parts/lists/list-table.ts'
import { usePages } from '../../parts/lists/pages.ts'
import type { Column } from '../../parts/lists/scroll-table.ts'
import type { EndpointAnswer } from '../../parts/managing-answers.ts'
import { ProblemNote, StateMark } from '../../parts/state.ts'
import { Foreign, visibleText } from '../../parts/text.ts'
import { Ago, millisOf } from '../../parts/times.ts'
import { useAnswer } from '../../shell/polling.ts'
import { hrefOf } from '../../shell/router.ts'
import { useNow, useTitle } from '../../shell/services.ts'
import { endpointState, pendingWords } from './endpoint-words.ts'

const EVERY_MS = 5000
const LIMIT = 100

const columns: readonly Column[] = [
  { name: 'Webhook' },
  { name: 'State' },
  { name: 'Waiting', kind: 'word' },
  { name: 'Given up', kind: 'number' },
  { name: 'Last success', kind: 'word' },
  { name: 'Answers in', kind: 'word' },
  { name: 'Filter' },
]

/** The list. */
export function EndpointList({ changes }: { changes: Changes }): ComponentChildren {
  useTitle('Webhooks')
  const nowMs = useNow()
  const pages = usePages()
  const { value, problem } = useAnswer(
    'GET /v1/webhooks',
    { with: { limit: LIMIT, after: pages.after } },
    EVERY_MS,
  )
  const tenants = new Set(value?.data.map(({ tenant }) => tenant))
  return h(
    'div',
    { class: 'stack' },
    h(
      'header',
      { class: 'head-row' },
      h('h1', null, 'Webhooks'),
      h('a', { class: 'button primary', href: hrefOf('webhooks', null, { new: '1' }) }, 'New webhook'),
    ),
    h(ChangesNote, { changes, what: 'webhooks' }),
    problem !== null && h(ProblemNote, { problem }),
    value !== null &&
      h(
        'section',
        { class: 'panel', 'aria-label': 'Webhooks' },
        value.data.length === 0
          ? h(
              'p',
              null,
              'There is no webhook yet. One posts every event that its filter matches to a URL of yours, signed and retried for up to 39 hours.',
            )
          : h(ListTable, {
              label: 'List of webhooks',
              columns,
              rows: value.data.map((endpoint) => ({
                key: endpoint.id,
                cells: cellsOf(endpoint, nowMs, tenants.size > 1),
              })),
            }),
        pages.buttons(value.next, { back: 'Webhooks before', on: 'More webhooks' }),
      ),
  )
}

function cellsOf(endpoint: EndpointAnswer, nowMs: number, hasTenant: boolean): ComponentChildren[] {
  const { id, url, description, tenant, health, filter } = endpoint
  const state = endpointState(endpoint, nowMs)
  const { dead, lastSuccess, p50Ms, p95Ms } = health
  const successMs = millisOf(lastSuccess)
  const words = visibleText(filterWords(filter).join('; '))
  return [
    [
      h('a', { href: hrefOf('webhooks', id) }, h(Foreign, { text: description ?? url, class: 'clip' })),
      description !== null && h('div', { class: 'soft' }, h(Foreign, { text: url, class: 'clip' })),
      hasTenant && h('div', { class: 'soft' }, 'tenant ', h(Foreign, { text: tenant })),
    ],
    h(StateMark, { tone: state.tone }, state.text),
    pendingWords(health, nowMs),
    dead === null ? '–' : dead === 0 ? '0' : h(StateMark, { tone: 'bad' }, dead.toLocaleString('en-GB')),
    successMs === null
      ? '–'
      : h('span', { title: new Date(successMs).toISOString() }, h(Ago, { ms: successMs })),
    p50Ms === null || p95Ms === null
      ? '–'
      : h('span', { title: 'Median and 95th percentile' }, `${p50Ms} ms, ${p95Ms} ms`),
    words === '' ? 'everything' : h('bdi', { class: 'clip', title: words }, words),
  ]
}
