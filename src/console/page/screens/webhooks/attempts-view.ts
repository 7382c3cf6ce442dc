/** Lists the attempts to deliver to an endpoint, the newest first; each opens into what was sent and what came back. */
import { type ComponentChildren, h } from 'preact'
import { elapsedWords } from '../../parts/elapsed.ts'
import { ChoiceField } from '../../parts/forms/fields.ts'
import { type ListRow, ListTable } from '../../parts/lists/list-table.ts'
import { usePages } from '../../parts/lists/pages.ts'
import type { Column } from '../../parts/lists/scroll-table.ts'
import type { AttemptAnswer, DeliveryAnswer, EndpointAnswer } from '../../parts/managing-answers.ts'
import { ProblemNote, StateMark } from '../../parts/state.ts'
import { Foreign } from '../../parts/text.ts'
import { Moment } from '../../parts/times.ts'
import { useAnswer } from '../../shell/polling.ts'
import type { PageRoute } from '../../shell/router.ts'
import { useConsole, useNow } from '../../shell/services.ts'
import { AttemptDetail } from './attempt-detail.ts'
import { attemptState, nextWords, outcomeWords } from './endpoint-words.ts'

const EVERY_MS = 3000
const LIMIT = 50
/** Of so many deliveries that wait the next try is known. */
const MOST_PENDING = 500
const FAILED = Object.keys(outcomeWords)
  .filter((outcome) => outcome !== 'ok')
  .join(',')

const columns: readonly Column[] = [
  { name: 'At', kind: 'word' },
  { name: 'Outcome' },
  { name: 'Event' },
  { name: 'Try', kind: 'number' },
  { name: 'Took', kind: 'number' },
  { name: 'Next try', kind: 'word' },
  { name: 'Actions', kind: 'actions' },
]

/** The list. What it shows is in the address: `outcome`, `event` and the attempt that is open. */
export function AttemptsView({
  endpoint,
  query,
}: {
  endpoint: EndpointAnswer
  query: PageRoute['query']
}): ComponentChildren {
  const { router } = useConsole()
  const nowMs = useNow()
  const pages = usePages()
  const { id } = endpoint
  const [outcome, eventId, open] = ['outcome', 'event', 'attempt'].map((name) => query.get(name)) as [
    string | null,
    string | null,
    string | null,
  ]
  const parameters = { id, limit: LIMIT, after: pages.after, outcome, eventId }
  const attempts = useAnswer('GET /v1/webhooks/{id}/attempts', { with: parameters }, EVERY_MS)
  const waiting = useAnswer(
    'GET /v1/webhooks/{id}/deliveries',
    { with: { id, state: 'pending', limit: MOST_PENDING } },
    EVERY_MS,
  )
  const pending = new Map((waiting.value?.data ?? []).map((delivery) => [delivery.eventId, delivery]))
  const choose = (changes: Record<string, string | null>): void => {
    pages.reset()
    router.setQuery({ ...changes, attempt: null })
  }
  const rows = (attempts.value?.data ?? []).map(
    (attempt): ListRow => ({
      key: attempt.id,
      cells: cellsOf(attempt, pending, nowMs, {
        isOpen: attempt.id === open,
        toggle: () => router.setQuery({ attempt: attempt.id === open ? null : attempt.id }),
      }),
      below:
        attempt.id === open
          ? h(AttemptDetail, { key: attempt.id, endpoint, attempt, next: nextOf(attempt, pending) })
          : null,
    }),
  )
  return [
    h(
      'div',
      { key: 'choice', class: 'inline-form' },
      h(ChoiceField, {
        label: 'Outcome',
        options: [['', 'all'], [FAILED, 'failed'], ...Object.entries(outcomeWords)],
        value: outcome ?? '',
        onValue: (value) => choose({ outcome: value === '' ? null : value }),
      }),
      eventId !== null &&
        h(
          'p',
          null,
          'Only of event ',
          h(Foreign, { text: eventId, class: 'code clip' }),
          ' ',
          h('button', { type: 'button', class: 'quiet', onClick: () => choose({ event: null }) }, 'Show all'),
        ),
    ),
    attempts.problem !== null && h(ProblemNote, { key: 'problem', problem: attempts.problem }),
    attempts.value !== null &&
      (rows.length === 0
        ? h('p', { key: 'none' }, 'No such attempt in the last week.')
        : h(ListTable, { key: 'list', label: 'List of attempts', columns, rows })),
    h('div', { key: 'pages' }, pages.buttons(attempts.value?.next ?? null, { back: 'Newer', on: 'Older' })),
  ]
}

/** The next try, where this attempt is the last of a delivery that waits. */
function nextOf(
  { eventId, attempt }: AttemptAnswer,
  pending: ReadonlyMap<string, DeliveryAnswer>,
): DeliveryAnswer | null {
  const delivery = pending.get(eventId)
  return delivery !== undefined && delivery.attempts === attempt ? delivery : null
}

function cellsOf(
  attempt: AttemptAnswer,
  pending: ReadonlyMap<string, DeliveryAnswer>,
  nowMs: number,
  { isOpen, toggle }: { isOpen: boolean; toggle: () => void },
): ComponentChildren[] {
  const state = attemptState(attempt)
  const next = nextOf(attempt, pending)
  return [
    h(Moment, { iso: attempt.at }),
    h(StateMark, { tone: state.tone }, state.text),
    h(Foreign, { text: attempt.eventId, class: 'code clip' }),
    attempt.attempt,
    elapsedWords(attempt.durationMs),
    next === null ? '–' : nextWords(next.nextAttempt, nowMs),
    h(
      'button',
      {
        type: 'button',
        class: 'quiet',
        'aria-expanded': isOpen,
        'aria-label': `${isOpen ? 'Close details' : 'Details'} of try ${attempt.attempt} of ${attempt.eventId}`,
        onClick: toggle,
      },
      isOpen ? 'Close' : 'Details',
    ),
  ]
}
