/**
 * Shows what became of an event at each webhook endpoint of the tenant, with the attempts of each and when they were, and sends
 * it to one again.
 */
import { type ComponentChildren, h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { elapsedWords } from '../../parts/elapsed.ts'
import { useChanges } from '../../parts/forms/changes.ts'
import { Resend } from '../../parts/forms/resend.ts'
import { ScrollTable } from '../../parts/lists/scroll-table.ts'
import type { AttemptAnswer } from '../../parts/managing-answers.ts'
import type { EventAnswer, EventDelivery } from '../../parts/reading-answers.ts'
import { ProblemNote, StateMark } from '../../parts/state.ts'
import { Foreign, visibleText } from '../../parts/text.ts'
import { exactMoment } from '../../parts/times.ts'
import { useAnswer } from '../../shell/polling.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole } from '../../shell/services.ts'
import { attemptWords, deliveryWords } from './delivery-words.ts'
import { VerifySnippet } from './verify-snippet.ts'

/** While something may happen at once, and where nothing is expected. */
const SOON_MS = 5000
const LATER_MS = 30_000
/** Deliveries begin within it. */
const YOUNG_MS = 120_000
const MOST_ENDPOINTS = 200
const MOST_ATTEMPTS = 100

/** The station of the webhooks. */
export function Deliveries({ event }: { event: EventAnswer }): ComponentChildren {
  const { session, api, clock } = useConsole()
  const mayRead = session.mayRead('webhooks:read')
  const [isPending, setPending] = useState(true)
  const isYoung = clock.now() + api.aheadMs() - Date.parse(event.recordedtime) < YOUNG_MS
  const deliveries = useAnswer(
    mayRead ? 'GET /v1/disclosures/{id}/deliveries' : null,
    { with: { id: event.id, limit: MOST_ENDPOINTS } },
    isPending || isYoung ? SOON_MS : LATER_MS,
  )
  const found = deliveries.value
  useEffect(() => setPending(found?.data.some(({ state }) => state === 'pending') ?? true), [found])
  return h(
    'li',
    { class: 'station' },
    h('h3', null, 'Webhooks'),
    !mayRead && h('p', null, 'What webhooks got is shown to sessions with the scope webhooks:read.'),
    deliveries.problem !== null && h(ProblemNote, { problem: deliveries.problem }),
    mayRead && found === null && deliveries.problem === null && h('p', { 'aria-busy': 'true' }, 'Asking …'),
    found !== null && found.data.length === 0 && h('p', null, 'There is no webhook endpoint.'),
    found !== null && found.data.length > 0 && h(Endpoints, { event, deliveries: found.data }),
    found !== null &&
      found.next !== null &&
      h('p', null, `Only the first ${MOST_ENDPOINTS} endpoints are shown.`),
    found !== null && found.data.length > 0 && h(VerifySnippet, null),
  )
}

function Endpoints({
  event,
  deliveries,
}: {
  event: EventAnswer
  deliveries: readonly EventDelivery[]
}): ComponentChildren {
  const changes = useChanges('webhooks:replay')
  // A replay sends announcements: gaps are events of the log alone.
  const canResend = changes.may !== 'never' && !event.type.startsWith('bridge.')
  const list = h(
    'ul',
    { key: 'list', class: 'plain endpoints' },
    deliveries.map((delivery) => {
      const { tone, state, line } = deliveryWords(delivery, (iso) => `at ${exactMoment(Date.parse(iso))}`)
      return h(
        'li',
        { key: delivery.endpointId },
        h(StateMark, { tone }, state),
        ' ',
        h(
          'a',
          { href: hrefOf('webhooks', delivery.endpointId) },
          h(Foreign, { text: delivery.description ?? delivery.url }),
        ),
        h('p', null, line),
        delivery.attempts > 0 && h(Attempts, { event, delivery }),
        delivery.matched &&
          canResend &&
          h(Resend, {
            endpointId: delivery.endpointId,
            status: delivery.status,
            eventId: event.id,
            changes,
            to: visibleText(delivery.description ?? delivery.url),
          }),
      )
    }),
  )
  return [list, changes.dialog]
}

/** The attempts of one endpoint, read when they are opened. */
function Attempts({ event, delivery }: { event: EventAnswer; delivery: EventDelivery }): ComponentChildren {
  const [isOpen, setOpen] = useState(false)
  return h(
    'details',
    { onToggle: (toggled: Event) => setOpen((toggled.currentTarget as HTMLDetailsElement).open) },
    h('summary', null, delivery.attempts === 1 ? 'Its attempt' : `Its ${delivery.attempts} attempts`),
    isOpen && h(AttemptTable, { event, delivery }),
  )
}

function AttemptTable({
  event,
  delivery: { endpointId, state },
}: {
  event: EventAnswer
  delivery: EventDelivery
}): ComponentChildren {
  const attempts = useAnswer(
    'GET /v1/webhooks/{id}/attempts',
    { with: { id: endpointId, eventId: event.id, limit: MOST_ATTEMPTS } },
    state === 'pending' ? SOON_MS : LATER_MS,
  )
  if (attempts.problem !== null && attempts.value === null)
    return h(ProblemNote, { problem: attempts.problem })
  if (attempts.value === null) return h('p', { 'aria-busy': 'true' }, 'Reading …')
  const rows = attempts.value.data.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at))
  return h(
    ScrollTable,
    {
      label: `Attempts of ${endpointId}`,
      columns: ['No.', 'At', 'After the commit', 'Answer', 'Took'],
      below: rows.length === 0 && h('p', null, 'None is kept: attempts are kept for a week.'),
    },
    rows.map((attempt) => attemptRow(attempt, event.committedTime)),
  )
}

function attemptRow(
  { id, attempt, at, status, outcome, durationMs }: AttemptAnswer,
  committed: string | null,
): ComponentChildren {
  const after = committed === null ? '–' : elapsedWords(Date.parse(at) - Date.parse(committed))
  return h(
    'tr',
    { key: id },
    h('td', { class: 'number' }, attempt),
    h('td', null, h('time', { dateTime: at }, exactMoment(Date.parse(at)))),
    h('td', { class: 'number' }, after),
    h('td', null, attemptWords({ status, outcome })),
    h('td', { class: 'number' }, elapsedWords(durationMs)),
  )
}
