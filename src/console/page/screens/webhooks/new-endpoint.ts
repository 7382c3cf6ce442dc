/** Creates an endpoint. The feed gives its filter along in the address, and the cursor of its newest row. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { readFilterText } from '../../parts/filter/filter-values.ts'
import { type Changes, ChangesNote } from '../../parts/forms/changes.ts'
import { ChoiceField, errorOf, TextField } from '../../parts/forms/fields.ts'
import { useIntent } from '../../parts/forms/intent.ts'
import { londonInput, londonMs } from '../../parts/forms/london-input.ts'
import type { EndpointWithSecret } from '../../parts/managing-answers.ts'
import { ProblemNote } from '../../parts/state.ts'
import type { ApiProblem } from '../../shell/api.ts'
import type { PageRoute } from '../../shell/router.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole, useTitle } from '../../shell/services.ts'
import { creationOf, type EndpointDraft, newDraft } from './endpoint-draft.ts'
import { EndpointForm } from './endpoint-form.ts'

type Start = 'now' | 'cursor' | 'time'

/** The form. */
export function NewEndpoint({
  query,
  changes,
  onMade,
}: {
  query: PageRoute['query']
  changes: Changes
  onMade: (made: EndpointWithSecret) => void
}): ComponentChildren {
  useTitle('New webhook')
  const { api, router, ticks } = useConsole()
  const cursor = query.get('since')
  const given = readFilterText(query.get('filter'))
  const [draft, setDraft] = useState<EndpointDraft>(() => newDraft(given ?? {}))
  const [start, setStart] = useState<Start>(cursor === null ? 'now' : 'cursor')
  const [time, setTime] = useState(() => londonInput(ticks.get()))
  const [problem, setProblem] = useState<ApiProblem | null>(null)
  const [isSending, setSending] = useState(false)
  const intent = useIntent()
  const since = { now: null, cursor, time: isoOf(time) }[start]
  const create = async (): Promise<void> => {
    setSending(true)
    const body = creationOf(draft, since)
    const result = await api.ask('POST /v1/webhooks', { headers: intent.headersFor(body), body })
    intent.answered(result)
    setSending(false)
    if (result.ok) onMade(result.value)
    else setProblem(result.problem)
  }
  if (given === null) return h(UnreadableFilter, null)
  return h(
    'div',
    { class: 'stack' },
    h('h1', null, 'New webhook'),
    h(ChangesNote, { changes, what: 'webhooks' }),
    h(
      EndpointForm,
      {
        draft,
        onDraft: (next) => {
          setDraft(next)
          setProblem(null)
        },
        problem,
        submit: 'Create the webhook',
        isSending,
        onSubmit: () => changes.attempt(() => void create()),
        onCancel: () => router.go(hrefOf('webhooks')),
      },
      h(ChoiceField, {
        label: 'Begins',
        options: [
          ['now', 'with new events'],
          ...(cursor === null ? [] : [['cursor', 'behind the newest row of the feed'] as const]),
          ['time', 'at a time in the past'],
        ],
        value: start,
        onValue: (value) => setStart(value as Start),
        error: start === 'time' ? null : errorOf(problem, 'since'),
      }),
      start === 'time' &&
        h(TextField, {
          label: 'First event from (London)',
          type: 'datetime-local',
          value: time,
          onValue: setTime,
          error: errorOf(problem, 'since'),
        }),
    ),
  )
}

/** Without the filter the webhook would get every event, which nobody asked for. */
function UnreadableFilter(_: object): ComponentChildren {
  const problem = {
    detail: 'The filter in the address of this page cannot be read.',
    hint: 'Open the page from the feed again, or begin without a filter.',
  }
  return h(
    'div',
    { class: 'stack' },
    h('h1', null, 'New webhook'),
    h(ProblemNote, { problem }),
    h('a', { href: hrefOf('webhooks', null, { new: '1' }) }, 'Begin without a filter'),
  )
}

/** Text that is no time is left to the bridge to refuse. */
function isoOf(text: string): string {
  const ms = londonMs(text)
  return ms === null ? text : new Date(ms).toISOString()
}
