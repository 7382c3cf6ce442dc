/** Lists how the deliveries to an endpoint stand: those that wait with a countdown, those that were given up. */
import { type ComponentChildren, h } from 'preact'
import { useChanges } from '../../parts/forms/changes.ts'
import { ChoiceField } from '../../parts/forms/fields.ts'
import { Resend } from '../../parts/forms/resend.ts'
import { ListTable } from '../../parts/lists/list-table.ts'
import { usePages } from '../../parts/lists/pages.ts'
import type { Column } from '../../parts/lists/scroll-table.ts'
import type { DeliveryAnswer, EndpointAnswer } from '../../parts/managing-answers.ts'
import { ProblemNote, StateMark, type StateTone } from '../../parts/state.ts'
import { Foreign } from '../../parts/text.ts'
import { useAnswer } from '../../shell/polling.ts'
import { hrefOf, type PageRoute } from '../../shell/router.ts'
import { useConsole, useNow } from '../../shell/services.ts'
import { nextWords } from './endpoint-words.ts'

const EVERY_MS = 3000
const LIMIT = 50

const columns: readonly Column[] = [
  { name: 'Event' },
  { name: 'State', kind: 'word' },
  { name: 'Tries', kind: 'number' },
  { name: 'Last answer', kind: 'word' },
  { name: 'Next try', kind: 'word' },
  { name: 'Actions', kind: 'actions' },
]

const states: Readonly<Record<DeliveryAnswer['state'], readonly [StateTone, string]>> = {
  pending: ['notice', 'waits'],
  delivered: ['good', 'delivered'],
  dead: ['bad', 'given up'],
}

/** The list. `state` of the address chooses; without it those that wait and those that were given up. */
export function DeliveriesView({
  endpoint: { id, status, health },
  query,
}: {
  endpoint: EndpointAnswer
  query: PageRoute['query']
}): ComponentChildren {
  const { router } = useConsole()
  const nowMs = useNow()
  const pages = usePages()
  const changes = useChanges('webhooks:replay')
  const state = query.get('state') ?? 'pending,dead'
  const { value, problem } = useAnswer(
    'GET /v1/webhooks/{id}/deliveries',
    { with: { id, state, limit: LIMIT, after: pages.after } },
    EVERY_MS,
  )
  const cellsOf = (delivery: DeliveryAnswer): ComponentChildren[] => {
    const [tone, words] = states[delivery.state] ?? ['idle', delivery.state]
    const { eventId, attempts, lastStatus } = delivery
    return [
      h('a', { href: hrefOf('item', eventId) }, h(Foreign, { text: eventId, class: 'code clip' })),
      h(StateMark, { tone }, words),
      h(
        'a',
        { href: hrefOf('webhooks', id, { event: eventId }), 'aria-label': `${attempts} tries of ${eventId}` },
        attempts,
      ),
      lastStatus ?? 'none',
      delivery.state === 'pending' ? nextWords(delivery.nextAttempt, nowMs) : '–',
      delivery.state === 'delivered' ? null : h(Resend, { endpointId: id, status, eventId, changes }),
    ]
  }
  return [
    h(
      'div',
      { key: 'choice', class: 'inline-form' },
      h(ChoiceField, {
        label: 'State',
        options: [
          ['pending,dead', 'waiting and given up'],
          ['pending', 'waiting'],
          ['dead', 'given up'],
          ['delivered', 'delivered'],
        ],
        value: state,
        onValue: (chosen) => {
          pages.reset()
          router.setQuery({ state: chosen === 'pending,dead' ? null : chosen })
        },
      }),
    ),
    problem !== null && h(ProblemNote, { key: 'problem', problem }),
    value !== null &&
      (value.data.length === 0
        ? h('p', { key: 'none' }, none(state, health.pending))
        : h(ListTable, {
            key: 'list',
            label: 'List of deliveries',
            columns,
            rows: value.data.map((delivery) => ({ key: delivery.eventId, cells: cellsOf(delivery) })),
          })),
    h(
      'div',
      { key: 'pages' },
      pages.buttons(value?.next ?? null, { back: 'Newer events', on: 'Older events' }),
    ),
    h('div', { key: 'unlock' }, changes.dialog),
  ]
}

/** Deliveries are listed from their first attempt on. */
function none(state: string, pending: number | null): string {
  if (state === 'delivered') return 'Nothing was delivered in the last week.'
  return pending !== null && pending > 0
    ? `${pending.toLocaleString('en-GB')} wait for their first try; they are listed from then on.`
    : 'Nothing waits, and nothing was given up.'
}
