/** Edits a filter over its whole grammar, beside its JSON, its commands and what it would have matched. */
import { type ComponentChildren, h } from 'preact'
import { useId, useState } from 'preact/hooks'
import type { Filter, PlainFilter } from '../../../../../clients/typescript/src/messages.ts'
import { bridgeCommand } from '../command.ts'
import { CopyButton } from '../copy.ts'
import { commandsOf, filterText, readFilterText, tidyFilter } from './filter-values.ts'
import { NamedFilters } from './named-filters-field.ts'
import { PlainFields } from './plain-fields.ts'
import { TrialNote, useTrial } from './trial.ts'
import { type FilterVocabulary, useVocabulary } from './vocabulary.ts'

const MOST_MEMBERS = 32

/** The form. `onApply` gets the filter when it is to count; `commands`: shows the commands that follow a stream with it. */
export function FilterBuilder({
  filter,
  onApply,
  onClose,
  commands = true,
}: {
  filter: Filter
  onApply: (filter: Filter) => void
  onClose: () => void
  commands?: boolean
}): ComponentChildren {
  const [draft, setDraft] = useState<Filter>(filter)
  const [applied, setApplied] = useState(filterText(filter))
  // The filter may change from outside, as by a click on a value of a row. What is typed before the first paint stays.
  if (applied !== filterText(filter)) {
    setApplied(filterText(filter))
    setDraft(filter)
  }
  const [typed, setTyped] = useState<string | null>(null)
  const isUnreadable = typed !== null && readFilterText(typed) === null
  const trial = useTrial(draft)
  const vocabulary = useVocabulary()
  const isRefused = trial.isCurrent && trial.result?.ok === false && trial.result.problem.kind === 'refused'
  const start = (next: Filter): void => {
    setDraft(next)
    setTyped(null)
  }
  const onSubmit = (event: Event): void => {
    event.preventDefault()
    if (!isRefused && !isUnreadable) onApply(tidyFilter(draft))
  }
  return h(
    'form',
    { class: 'filter-builder', onSubmit, 'aria-label': 'Filter' },
    h(
      'div',
      { class: 'filter-form' },
      h(PlainFields, { filter: draft, vocabulary, onChange: setDraft }),
      h(Exclusion, { draft, setDraft, vocabulary }),
      h(Alternatives, { draft, setDraft, vocabulary }),
    ),
    h(
      'div',
      { class: 'filter-beside' },
      h(TrialNote, { trial }),
      h(
        'div',
        { class: 'buttons' },
        h('button', { type: 'submit', class: 'primary', disabled: isRefused || isUnreadable }, 'Apply'),
        h('button', { type: 'button', onClick: () => start({}) }, 'Clear'),
        h('button', { type: 'button', onClick: onClose }, 'Close'),
      ),
      h(NamedFilters, { draft, onPick: start }),
      h(JsonField, { draft, setDraft, typed, setTyped, isWrong: isUnreadable }),
      commands && h(Commands, { filter: draft }),
    ),
  )
}

interface DraftProps {
  draft: Filter
  setDraft: (filter: Filter) => void
  vocabulary: FilterVocabulary
}

function Exclusion({ draft, setDraft, vocabulary }: DraftProps): ComponentChildren {
  return h(
    'details',
    { open: draft.exclude !== undefined, class: 'filter-section' },
    h('summary', null, 'But not'),
    h('p', { class: 'hint' }, 'Leaves out what matches all fields below.'),
    h(PlainFields, {
      filter: draft.exclude ?? {},
      vocabulary,
      onChange: (exclude) => setDraft({ ...draft, exclude }),
    }),
  )
}

function Alternatives({ draft, setDraft, vocabulary }: DraftProps): ComponentChildren {
  const members = draft.filters ?? []
  const setMember = (at: number, member: PlainFilter): void =>
    setDraft({ ...draft, filters: members.map((one, index) => (index === at ? member : one)) })
  return h(
    'details',
    { open: members.length > 0, class: 'filter-section' },
    h('summary', null, 'And any of'),
    h('p', { class: 'hint' }, 'At least one of these must match too.'),
    members.map((member, index) =>
      h(
        'fieldset',
        { key: index, class: 'alternative' },
        h('legend', null, `Alternative ${index + 1}`),
        h(PlainFields, { filter: member, vocabulary, onChange: (next) => setMember(index, next) }),
        h(
          'button',
          {
            type: 'button',
            onClick: () => setDraft({ ...draft, filters: members.filter((_, at) => at !== index) }),
          },
          `Remove alternative ${index + 1}`,
        ),
      ),
    ),
    h(
      'button',
      {
        type: 'button',
        disabled: members.length >= MOST_MEMBERS,
        onClick: () => setDraft({ ...draft, filters: [...members, {}] }),
      },
      'Add an alternative',
    ),
  )
}

/** The JSON form, which can be edited too. `typed`: its text while somebody edits it; `isWrong`: the text is no filter. */
function JsonField({
  draft,
  setDraft,
  typed,
  setTyped,
  isWrong,
}: Omit<DraftProps, 'vocabulary'> & {
  typed: string | null
  setTyped: (typed: string | null) => void
  isWrong: boolean
}): ComponentChildren {
  const id = useId()
  const text = filterText(draft)
  return h(
    'div',
    { class: 'field' },
    h(
      'div',
      { class: 'field-head' },
      h('label', { for: id }, 'JSON'),
      h(CopyButton, { text: text === '' ? '{}' : text, what: 'the filter as JSON' }),
    ),
    h('textarea', {
      id,
      rows: 4,
      spellcheck: false,
      value: typed ?? (text === '' ? '{}' : JSON.stringify(tidyFilter(draft), null, 1)),
      'aria-invalid': isWrong,
      'aria-describedby': `${id}-hint`,
      onInput: (event: Event) => {
        const { value } = event.currentTarget as HTMLTextAreaElement
        setTyped(value)
        const read = readFilterText(value)
        if (read !== null) setDraft(read)
      },
      onBlur: () => {
        if (!isWrong) setTyped(null)
      },
    }),
    h(
      'p',
      { id: `${id}-hint`, class: 'hint' },
      isWrong ? 'This is no filter yet: a JSON object, whose lists have members.' : '',
    ),
  )
}

function Commands({ filter }: { filter: Filter }): ComponentChildren {
  const { curl, tail } = commandsOf(filter, location.origin, bridgeCommand())
  return [
    h(CommandLine, { name: 'In a terminal', text: tail }),
    h(CommandLine, { name: 'With curl', text: curl }),
  ]
}

function CommandLine({ name, text }: { name: string; text: string }): ComponentChildren {
  return h(
    'div',
    { class: 'field' },
    h(
      'div',
      { class: 'field-head' },
      h('span', null, name),
      h(CopyButton, { text, what: `the command: ${name}` }),
    ),
    h('pre', { class: 'command', tabIndex: 0, role: 'region', 'aria-label': name }, h('code', null, text)),
  )
}
