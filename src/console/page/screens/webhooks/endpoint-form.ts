/** The fields of an endpoint: where it is, which events it gets, and how they are sent. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { FilterBuilder } from '../../parts/filter/filter-builder.ts'
import { filterWords } from '../../parts/filter/filter-values.ts'
import { TrialNote, useTrial } from '../../parts/filter/trial.ts'
import { ChoiceField, errorOf, problemBeside, TextField } from '../../parts/forms/fields.ts'
import { ProblemNote } from '../../parts/state.ts'
import { visibleText } from '../../parts/text.ts'
import type { ApiProblem } from '../../shell/api.ts'
import type { EndpointDraft } from './endpoint-draft.ts'
import { HeaderFields } from './header-fields.ts'
import { urlHint } from './url-hints.ts'

const LONGEST_DESCRIPTION = 200
const MEMBERS = ['url', 'description', 'headers', 'maxConcurrency', 'rateLimit', 'maxBatch', 'order', 'since']

/** What the form works with. */
export interface EndpointFormProps {
  draft: EndpointDraft
  onDraft: (draft: EndpointDraft) => void
  problem: ApiProblem | null
  submit: string
  isSending: boolean
  onSubmit: () => void
  onCancel: () => void
  /** Fields of their own, such as where deliveries begin. */
  children?: ComponentChildren
}

/** The form. The filter's own form stands beside it, because forms do not nest. */
export function EndpointForm(props: EndpointFormProps): ComponentChildren {
  const { draft, onDraft, problem, submit, isSending, onSubmit, onCancel, children } = props
  const [isFiltering, setFiltering] = useState(false)
  const set = (change: Partial<EndpointDraft>): void => onDraft({ ...draft, ...change })
  const hint = urlHint(draft.url)
  const beside = problemBeside(problem, MEMBERS)
  const send = (event: Event): void => {
    event.preventDefault()
    if (!isSending && hint === null) onSubmit()
  }
  return h(
    'div',
    { class: 'stack' },
    h(
      'form',
      { id: 'endpoint-form', class: 'panel endpoint-form', onSubmit: send },
      h(TextField, {
        label: 'URL',
        type: 'text',
        placeholder: 'https://hooks.example/in',
        isRequired: true,
        value: draft.url,
        onValue: (url) => set({ url }),
        error: hint ?? errorOf(problem, 'url'),
        hint: 'Where events are posted to. The bridge checks it, and its address at each attempt.',
      }),
      h(TextField, {
        label: 'Description',
        maxLength: LONGEST_DESCRIPTION,
        value: draft.description,
        onValue: (description) => set({ description }),
        error: errorOf(problem, 'description'),
        hint: 'For people; shown in lists.',
      }),
      children,
      h(Sending, { draft, set, problem }),
    ),
    h(FilterPanel, {
      draft,
      isFiltering,
      setFiltering,
      onFilter: (filter) => {
        set({ filter })
        setFiltering(false)
      },
    }),
    beside !== null && h(ProblemNote, { problem: withFields(beside) }),
    h(
      'div',
      { class: 'buttons' },
      h(
        'button',
        { type: 'submit', form: 'endpoint-form', class: 'primary', disabled: isSending || isFiltering },
        submit,
      ),
      h('button', { type: 'button', onClick: onCancel }, 'Cancel'),
      isFiltering && h('span', { class: 'hint' }, 'Apply the filter or close its form first.'),
    ),
  )
}

/** Names the members that have no field of their own here, such as those of the filter. */
function withFields(problem: ApiProblem): { detail: string; hint: string | null } {
  const named = problem.errors.map(({ field, message }) => `${field} ${message}`)
  return { detail: visibleText([problem.detail, ...named].join('; ')), hint: problem.hint }
}

function FilterPanel({
  draft,
  isFiltering,
  setFiltering,
  onFilter,
}: {
  draft: EndpointDraft
  isFiltering: boolean
  setFiltering: (isFiltering: boolean) => void
  onFilter: (filter: EndpointDraft['filter']) => void
}): ComponentChildren {
  if (isFiltering) {
    const onClose = (): void => setFiltering(false)
    return h(FilterBuilder, { filter: draft.filter, onApply: onFilter, onClose, commands: false })
  }
  return h(
    'section',
    { class: 'panel', 'aria-label': 'Filter of the webhook' },
    h('h2', null, 'Which events'),
    h(FilterWords, { filter: draft.filter }),
    h(Trial, { filter: draft.filter }),
    h(
      'div',
      { class: 'buttons' },
      h('button', { type: 'button', onClick: () => setFiltering(true) }, 'Edit the filter'),
    ),
  )
}

/** The filter in words. */
export function FilterWords({ filter }: Pick<EndpointDraft, 'filter'>): ComponentChildren {
  const words = filterWords(filter)
  if (words.length === 0) return h('p', null, 'Every announcement; no gap events.')
  return h(
    'ul',
    { class: 'chips', 'aria-label': 'The filter' },
    words.map((word) => h('li', { key: word }, h('bdi', null, visibleText(word)))),
  )
}

function Trial({ filter }: Pick<EndpointDraft, 'filter'>): ComponentChildren {
  return h(TrialNote, { trial: useTrial(filter) })
}

function Sending({
  draft,
  set,
  problem,
}: {
  draft: EndpointDraft
  set: (change: Partial<EndpointDraft>) => void
  problem: ApiProblem | null
}): ComponentChildren {
  const members = ['headers', 'maxConcurrency', 'rateLimit', 'maxBatch', 'order']
  const hasError = members.some((member) => errorOf(problem, member) !== null)
  return h(
    'details',
    { class: 'filter-section', open: hasError || draft.headers.length > 0 },
    h('summary', null, 'How they are sent'),
    h(
      'div',
      { class: 'plain-fields' },
      h(TextField, {
        label: 'Most deliveries at a time',
        value: draft.maxConcurrency,
        onValue: (maxConcurrency) => set({ maxConcurrency }),
        error: errorOf(problem, 'maxConcurrency'),
      }),
      h(TextField, {
        label: 'Most deliveries a second',
        placeholder: 'no limit',
        value: draft.rateLimit,
        onValue: (rateLimit) => set({ rateLimit }),
        error: errorOf(problem, 'rateLimit'),
      }),
      h(TextField, {
        label: 'Most events of one request',
        placeholder: 'one, not in an array',
        value: draft.maxBatch,
        onValue: (maxBatch) => set({ maxBatch }),
        error: errorOf(problem, 'maxBatch'),
      }),
      h(ChoiceField, {
        label: 'Order',
        options: [
          ['none', 'as fast as possible'],
          ['issuer', 'events of one issuer one after the other'],
        ],
        value: draft.order,
        onValue: (order) => set({ order }),
        error: errorOf(problem, 'order'),
      }),
      h(
        'div',
        { class: 'wide' },
        h(HeaderFields, {
          headers: draft.headers,
          error: errorOf(problem, 'headers'),
          onChange: (headers) => set({ headers }),
        }),
      ),
    ),
  )
}
